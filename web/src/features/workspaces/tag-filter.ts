/** A tag of a workspace: the value is empty for one that is a name only. */
export type Tag = { key: string; value: string }

/** "kafka", "env=prod". A key may contain "=", which no tag may write as "%3D". */
export function tagText({ key, value }: Tag) {
  const name = key.replaceAll('=', '%3D')
  return value === '' ? name : `${name}=${value}`
}

/** Reads `tagText`; without "=" any value will do. */
export function readTag(text: string): Tag {
  const [key = '', ...value] = text.split('=')
  return { key: key.replaceAll('%3D', '=').trim(), value: value.join('=').trim() }
}

/** The tags of an address, which are separated by commas: no tag contains one. */
export function readTags(text: string | undefined): Tag[] {
  return (text ?? '')
    .split(',')
    .map(readTag)
    .filter(({ key }) => key !== '')
}

/** The parameters of the API that ask for workspaces with all of the tags. */
export function taggedParams(tags: readonly Tag[]) {
  return Object.fromEntries(
    tags.flatMap(({ key, value }, index) => [
      [`filter[tagged][${index}][key]`, key],
      [`filter[tagged][${index}][value]`, value],
    ]),
  )
}
