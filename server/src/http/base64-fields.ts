import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Strings of at least this many bytes are decoded from the raw body. */
const LONG = 32 * 1024
/** Maximum number of examined strings. A real body has about a dozen. */
const MAX_TEXTS = 500
/** A multiple of 4, and small enough for V8 to allocate the string in its young generation. */
const SLICE = 48 * 1024
/** Characters decoded before yielding to the event loop (2 ms). */
const CHARACTERS_PER_TURN = 32 * SLICE
/** Replaces a field while the rest is parsed. Random, so that no client can forge it. */
const MARK = `base64-${randomUUID()}-`

type Cut = { start: number; end: number; bytes: Buffer }

/**
 * Parses JSON and decodes the long base64 strings under `names` to buffers, which avoids parsing strings of megabytes. A field that is not
 * entirely base64 stays a string. Throws as `JSON.parse` does. The buffers are in shared memory, so workers read them without a copy.
 */
export async function parseBase64Fields(body: Buffer, names: readonly string[]): Promise<unknown> {
  const cuts = await findCuts(body, names)
  let text = ''
  let at = 0
  for (const [index, { start, end }] of cuts.entries()) {
    text += `${body.toString('utf8', at, start)}${MARK}${index}`
    at = end
  }
  text += body.toString('utf8', at)
  if (cuts.length === 0) return JSON.parse(text)
  try {
    return JSON.parse(text, (_, value: unknown) =>
      typeof value === 'string' && value.startsWith(MARK) ? cuts[Number(value.slice(MARK.length))]?.bytes : value,
    )
  } catch {
    // Parse again, so that the error names the position in the original body.
    return JSON.parse(body.toString())
  }
}

/** Decoded bytes of long base64 attributes, by name. */
export type Contents = Readonly<Record<string, Buffer>>

/** Moves the buffers out of a body's attributes. A short string takes their place, since schemas expect strings. */
export function takeContents(body: unknown, names: readonly string[]): Contents {
  const contents: Record<string, Buffer> = {}
  const attributes = (body as { data?: { attributes?: Record<string, unknown> | null } | null } | null)?.data
    ?.attributes
  for (const name of names) {
    const content = attributes?.[name]
    if (!attributes || !Buffer.isBuffer(content)) continue
    contents[name] = content
    attributes[name] = 'AA=='
  }
  return contents
}

async function findCuts(body: Buffer, names: readonly string[]) {
  const cuts: Cut[] = []
  let at = 0
  let key = ''
  for (let count = 0; count < MAX_TEXTS; count += 1) {
    const open = body.indexOf(QUOTE, at)
    const end = open < 0 ? -1 : closingQuote(body, open + 1)
    if (end < 0) break
    const start = open + 1
    const isLong = end - start >= LONG
    if (isLong && names.includes(key) && isColon(body, at, open)) {
      const bytes = await decoded(body, start, end)
      if (bytes) cuts.push({ start, end, bytes })
    }
    key = isLong ? '' : body.toString('latin1', start, end)
    at = end + 1
  }
  return cuts
}

function closingQuote(body: Buffer, from: number) {
  for (let at = body.indexOf(QUOTE, from); at >= 0; at = body.indexOf(QUOTE, at + 1)) {
    let escapes = 0
    while (body[at - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return at
  }
  return -1
}

/** Whether only a colon separates two strings: the first is then the key of the second. */
function isColon(body: Buffer, start: number, end: number) {
  return end - start < 100 && body.toString('latin1', start, end).trim() === ':'
}

/**
 * Undefined unless the whole range is base64. Node skips invalid characters, so an invalid range yields fewer bytes
 * than expected.
 */
async function decoded(body: Buffer, start: number, end: number): Promise<Buffer | undefined> {
  let last = end
  while (last > start && end - last < 2 && body[last - 1] === 0x3d) last -= 1
  const length = last - start
  if (length % 4 === 1) return undefined
  const bytes = Buffer.from(new SharedArrayBuffer(Math.floor((length * 3) / 4)))
  let written = 0
  for (let at = start; at < last; at += SLICE) {
    const slice = body.toString('latin1', at, Math.min(at + SLICE, last))
    const expected = Math.floor((slice.length * 3) / 4)
    if (bytes.write(slice, written, 'base64') !== expected) return undefined
    written += expected
    if ((at - start) % CHARACTERS_PER_TURN === 0 && at > start) await nextTurn()
  }
  return bytes
}
