import { TAG_MAX, TAG_RULE, TAG_TEXT } from '@groundstate/contract/limits'

/** A tag of a workspace; the value is empty for a tag without one. */
export type Tag = { key: string; value: string }

/** "kafka", "env: prod", for display. */
export function tagLabel({ key, value }: Tag) {
  return value === '' ? key : `${key}: ${value}`
}

/** "kafka", "env=prod", for input and URLs. A "=" in the key is written "%3D", which no tag contains. */
export function tagText({ key, value }: Tag) {
  const name = key.replaceAll('=', '%3D')
  return value === '' ? name : `${name}=${value}`
}

/** Parses `tagText`. Without "=", any value matches. */
export function readTag(text: string): Tag {
  const [key = '', ...value] = text.split('=')
  return { key: key.replaceAll('%3D', '=').trim(), value: value.join('=').trim() }
}

/** Why a tag is invalid, by the rules of the contract; undefined if it is valid. */
export function tagProblem(tag: Tag) {
  if (tag.key === '') return 'enter a tag'
  for (const part of ['key', 'value'] as const) {
    if (tag[part].length > TAG_MAX) return `the ${part} is too long: at most ${TAG_MAX} characters`
    if (!TAG_TEXT.test(tag[part])) return `the ${part} ${TAG_RULE}`
  }
  return undefined
}

/** Parses the comma-separated tags of a URL; no tag contains a comma. */
export function readTags(text = ''): Tag[] {
  return text
    .split(',')
    .map(readTag)
    .filter(({ key }) => key !== '')
}

export function taggedParams(tags: readonly Tag[]) {
  return Object.fromEntries(
    tags.flatMap(({ key, value }, index) => [
      [`filter[tagged][${index}][key]`, key],
      [`filter[tagged][${index}][value]`, value],
    ]),
  )
}

/** A tag in the body of a request. */
export function tagLinkage(attributes: Tag) {
  return { type: 'tag-bindings', attributes }
}
