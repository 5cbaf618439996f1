const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** Bytes that may be part of a number or literal, valid or misspelt. */
const IS_SCALAR = new Uint8Array(256)
for (const byte of Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-._'))
  IS_SCALAR[byte] = 1
/** Maximum depth of the engine's JSON reader. */
const MAX_DEPTH = 10_000
/** Length from which a string is skipped by a native call, which costs more than a short loop. */
const NATIVE_AFTER = 256

const SPACE = 0x20
const FOUR_SPACES = 0x20202020
const STRING = 1
const OPEN = 2
const CLOSE = 3
const LINE = 4
/** Meaning of a byte outside of strings in a nested value; 0 for none. */
const SIGNIFICANT = new Uint8Array(256)
SIGNIFICANT[QUOTE] = STRING
SIGNIFICANT[OPEN_OBJECT] = SIGNIFICANT[OPEN_ARRAY] = OPEN
SIGNIFICANT[CLOSE_OBJECT] = SIGNIFICANT[CLOSE_ARRAY] = CLOSE
SIGNIFICANT[0x0a] = LINE

/** Position of a field's value: bytes `start` to `end` (exclusive), without surrounding white space. */
export type Span = { start: number; end: number }

/** Top-level fields of a JSON object; of a repeated key, the last one counts, as in the engine. */
export type TopLevel = { ok: true; fields: Map<string, Span> } | { ok: false; reason: string }

class Malformed extends Error {}

/**
 * Finds the fields of a JSON object without parsing their values, in tens of milliseconds for 50 MB. The top level is checked completely;
 * below it, only brackets and quotes must match. The reason names the problem and the byte.
 */
export function topLevelFields(raw: Buffer): TopLevel {
  try {
    return { ok: true, fields: scan(raw) }
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, reason: error.message }
    throw error
  }
}

function scan(raw: Buffer) {
  const fields = new Map<string, Span>()
  let at = skipSpace(raw, 0)
  if (at === raw.length) throw new Malformed('is empty')
  if (raw[at] !== OPEN_OBJECT) throw new Malformed(`is not a JSON object: ${found(raw, at)}`)
  at = skipSpace(raw, at + 1)
  if (raw[at] === CLOSE_OBJECT) {
    checkEnd(raw, at + 1)
    return fields
  }
  for (;;) {
    if (raw[at] !== QUOTE) throw new Malformed(`is not valid JSON: a key is expected, but ${found(raw, at)}`)
    const keyEnd = stringEnd(raw, at)
    const key = literal(raw, at, keyEnd)
    at = skipSpace(raw, keyEnd)
    if (raw[at] !== COLON) throw new Malformed(`is not valid JSON: a colon is expected, but ${found(raw, at)}`)
    const start = skipSpace(raw, at + 1)
    const end = valueEnd(raw, start)
    fields.set(String(key), { start, end })
    at = skipSpace(raw, end)
    if (raw[at] === CLOSE_OBJECT) {
      checkEnd(raw, at + 1)
      return fields
    }
    if (raw[at] !== COMMA) {
      throw new Malformed(`is not valid JSON: a comma or closing brace is expected, but ${found(raw, at)}`)
    }
    at = skipSpace(raw, at + 1)
  }
}

function checkEnd(raw: Buffer, from: number) {
  const at = skipSpace(raw, from)
  if (at < raw.length) throw new Malformed(`is not valid JSON: nothing may follow the object, but ${found(raw, at)}`)
}

function valueEnd(raw: Buffer, start: number) {
  const first = raw[start]
  if (first === QUOTE) return stringEnd(raw, start)
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return containerEnd(raw, start)
  let end = start
  while (end < raw.length && IS_SCALAR[raw[end] as number] === 1) end++
  if (end === start) throw new Malformed(`is not valid JSON: a value is expected, but ${found(raw, start)}`)
  literal(raw, start, end)
  return end
}

/** Position after the closing bracket. */
function containerEnd(raw: Buffer, start: number) {
  const { length } = raw
  const open = new Uint8Array(MAX_DEPTH)
  const ahead = (4 - (raw.byteOffset % 4)) % 4
  const words = new Int32Array(raw.buffer, raw.byteOffset + ahead, Math.max(0, length - ahead) >> 2)
  let depth = 0
  let at = start
  while (at < length) {
    const byte = raw[at++] as number
    const what = SIGNIFICANT[byte] as number
    if (what === 0) continue
    if (what === STRING) {
      at = stringEnd(raw, at - 1)
    } else if (what === LINE) {
      // Engines indent by two spaces per level, so about half of a state is white space: skip it by words.
      if (raw[at] === SPACE && raw[at + 1] === SPACE && raw[at + 2] === SPACE) {
        let word = (at - ahead + 3) >> 2
        while (words[word] === FOUR_SPACES) word++
        at = word * 4 + ahead
      }
    } else if (what === OPEN) {
      if (depth === MAX_DEPTH) throw new Malformed(`is nested deeper than ${MAX_DEPTH} levels at byte ${at - 1}`)
      open[depth++] = byte
    } else {
      depth--
      // In ASCII, the code of a closing bracket is that of its opening one plus 2.
      if (byte !== (open[depth] as number) + 2) {
        throw new Malformed(`is not valid JSON: brackets do not match at byte ${at - 1}`)
      }
      if (depth === 0) return at
    }
  }
  throw new Malformed(`is truncated: the value that starts at byte ${start} does not end`)
}

/** Position after the closing quote. */
function stringEnd(raw: Buffer, start: number) {
  const { length } = raw
  const near = Math.min(start + NATIVE_AFTER, length)
  let at = start + 1
  while (at < near) {
    const byte = raw[at++]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  for (;;) {
    const quote = raw.indexOf(QUOTE, at)
    if (quote === -1) throw new Malformed(`is truncated: the string that starts at byte ${start} does not end`)
    let before = quote - 1
    while (before >= at && raw[before] === BACKSLASH) before--
    if ((quote - 1 - before) % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function literal(raw: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(raw.toString('utf8', start, end))
  } catch (error) {
    throw new Malformed(`is not valid JSON: ${excerpt(raw, start, end)} at byte ${start} can't be read`, {
      cause: error,
    })
  }
}

function skipSpace(raw: Buffer, from: number) {
  let at = from
  while (at < raw.length && isSpace(raw[at] as number)) at++
  return at
}

function isSpace(byte: number) {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function found(raw: Buffer, at: number) {
  if (at >= raw.length) return 'the text ends'
  return `${excerpt(raw, at, at + 1)} is at byte ${at}`
}

function excerpt(raw: Buffer, start: number, end: number) {
  return JSON.stringify(raw.toString('utf8', start, Math.min(end, start + 40)))
}
