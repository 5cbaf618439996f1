import { type Given, withoutMark, withoutRepeats } from './given.ts'

const START = /^[ \t]*(?:export[ \t]+)?([^\s=#'"]+)[ \t]*=[ \t]*/
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$', '`': '`' }

/**
 * Reads a `.env` file: `KEY=value`, `export KEY=value`, texts in quotes over several lines, comments. Values stand for
 * themselves: nothing is put in for `$OTHER`.
 */
export function parseEnv(source: string): Given[] {
  const lines = withoutMark(source).split('\n')
  const given: Given[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const text = lines[index] ?? ''
    if (/^\s*(?:#|$)/.test(text)) continue
    const line = index + 1
    const [start, key] = START.exec(text) ?? []
    if (start === undefined || key === undefined) {
      given.push({ line, fault: `“${text.trim().slice(0, 40)}” is no KEY=value` })
      continue
    }
    const rest = text.slice(start.length)
    const quote = rest[0]
    if (quote !== '"' && quote !== "'") {
      given.push({ key, line, hcl: false, value: rest.replace(/(?:^|\s)#.*$/, '').trim() })
      continue
    }
    // The text may go on in the next lines, until its quote.
    let body = rest.slice(1)
    let end = endOf(body, quote)
    let last = index
    while (end === -1 && last + 1 < lines.length) {
      last += 1
      body += `\n${lines[last] ?? ''}`
      end = endOf(body, quote)
    }
    if (end === -1) {
      given.push({ line, fault: `the ${quote} of ${key} is never closed` })
      continue
    }
    const behind = body.slice(end + 1).trim()
    index = last
    if (behind !== '' && !behind.startsWith('#')) {
      given.push({ line, fault: `“${behind.slice(0, 40)}” stands behind the text of ${key}` })
      continue
    }
    const value = body.slice(0, end)
    given.push({ key, line, hcl: false, value: quote === '"' ? unescaped(value) : value })
  }
  return withoutRepeats(given)
}

/** Where the quote that ends a text stands; -1 when there is none. */
function endOf(body: string, quote: string) {
  for (let index = 0; index < body.length; index += 1) {
    if (quote === '"' && body[index] === '\\') index += 1
    else if (body[index] === quote) return index
  }
  return -1
}

function unescaped(text: string) {
  return text.replaceAll(/\\(.)/gs, (whole, character: string) => ESCAPES[character] ?? whole)
}
