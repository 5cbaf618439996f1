import { type Content, partsOf } from './content.ts'

/** Maximum length of a text in a block, in characters. */
const MAX_TEXT = 3000

/**
 * A message of Block Kit. Texts of users are `plain_text`, in which nothing is markup or a mention; `text` is for notifications of devices, and for
 * services that accept the format without blocks.
 */
export function slackMessage(baseUrl: string, content: Content) {
  const { title, place, subject, details, failure, link } = partsOf(baseUrl, content)
  const heading = link ? `<${link.url}|${escaped(title)}>` : escaped(title)
  const line = `${heading} in ${escaped(place)}`
  const texts = [subject, failure].filter((text) => text !== undefined && text !== '')
  return {
    text: [line, ...texts.map((text) => escaped(text ?? '')), ...details.map(escaped)].join('\n'),
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${line}*` } },
      ...texts.map((text) => ({ type: 'section', text: plain(text ?? '') })),
      ...(details.length === 0 ? [] : [{ type: 'context', elements: [plain(details.join(' · '))] }]),
    ],
  }
}

function plain(text: string) {
  return { type: 'plain_text', text: text.slice(0, MAX_TEXT), emoji: false }
}

/** Escapes the three characters that begin links and mentions. */
function escaped(text: string) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
