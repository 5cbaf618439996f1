/*
 * JSON as the engine writes it. Its numbers have up to 512 bits, and a double holds 53 of them: an account number of twenty
 * digits would be another one after `JSON.parse`. Node 20 and older browsers neither tell how a number was written nor write
 * one in another way, so while it is parsed or printed a wide number is a text with a mark.
 */

/** A number that is not the same after it went through a double, as it was written. */
export type WideNumber = { readonly rawJSON: string }

/** As `JSON.parse`, but a number that would not be written again with its digits becomes a `WideNumber`. */
export function parseExact(text: string): unknown {
  const marked = withMarks(text)
  if (marked === undefined) return JSON.parse(text)
  try {
    return withWideNumbers(JSON.parse(marked))
  } catch (error) {
    // The error has to name the place in the text as it was given.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

/** As `JSON.stringify`, which keeps the digits of wide numbers in recent versions of JavaScript only. */
export function printExact(value: unknown, indent?: number): string {
  if (rawJSON !== undefined) return JSON.stringify(value, undefined, indent)
  isPrinting = true
  try {
    return JSON.stringify(value, undefined, indent).replaceAll(MARKED, '$1')
  } finally {
    isPrinting = false
  }
}

export function isWideNumber(value: unknown): value is WideNumber {
  if (typeof value !== 'object' || value === null) return false
  return isRawJSON === undefined ? value instanceof OlderWideNumber : isRawJSON(value)
}

/** Whether two numbers are the same, however they are written: `1.50` and `15e-1` are. */
export function isSameNumber(one: number | WideNumber, other: number | WideNumber) {
  return one === other || normalForm(digitsOf(one)) === normalForm(digitsOf(other))
}

/** Members of JSON that recent versions of JavaScript have, and the library of TypeScript has not yet. */
const { rawJSON, isRawJSON } = JSON as {
  rawJSON?: (text: string) => WideNumber
  isRawJSON?: (value: unknown) => boolean
}

/** The mark is random, so no text of a user begins with it. */
const MARK = `wide-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')}:`
const MARKED = new RegExp(`"${MARK}([^"]+)"`, 'g')
let isPrinting = false

class OlderWideNumber implements WideNumber {
  readonly rawJSON: string

  constructor(digits: string) {
    this.rawJSON = digits
  }

  toJSON() {
    return isPrinting ? MARK + this.rawJSON : Number(this.rawJSON)
  }
}

function wideNumber(digits: string): WideNumber {
  return rawJSON === undefined ? new OlderWideNumber(digits) : rawJSON(digits)
}

/** What may be a wide number, without its sign: it has sixteen digits or an exponent of three, and stands where a value may. */
const CANDIDATE = /\d(?<=(?:^|[[:,\s])-?\d)(?:[\d.]{15}|[\d.]*[eE][+-]?\d{3})[\d.eE+-]*(?=\s*(?:[,\]}]|$))/g
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The text with a marked string in the place of each wide number; undefined when it has none. */
function withMarks(text: string) {
  const pieces: string[] = []
  let copied = 0
  // What is in a string is no number. Each string is passed once: there may be millions of both.
  let nextString = indexOrEnd(text, 0)
  let endOfFormer = 0
  for (const { 0: unsigned, index } of text.matchAll(CANDIDATE)) {
    const start = text[index - 1] === '-' ? index - 1 : index
    const digits = text.slice(start, index + unsigned.length)
    if (!NUMBER.test(digits) || !isWide(digits)) continue
    while (nextString < start) {
      endOfFormer = endOfString(text, nextString)
      nextString = indexOrEnd(text, endOfFormer)
    }
    if (start < endOfFormer) continue
    pieces.push(text.slice(copied, start), `"${MARK}${digits}"`)
    copied = start + digits.length
  }
  return pieces.length === 0 ? undefined : pieces.join('') + text.slice(copied)
}

function indexOrEnd(text: string, from: number) {
  const index = text.indexOf('"', from)
  return index === -1 ? text.length : index
}

function endOfString(text: string, begin: number) {
  let quote = begin
  do quote = indexOrEnd(text, quote + 1)
  while (quote < text.length && isEscaped(text, quote))
  return quote + 1
}

function isEscaped(text: string, index: number) {
  let first = index
  while (text[first - 1] === '\\') first -= 1
  return (index - first) % 2 === 1
}

/** Puts wide numbers in the place of marked strings. */
function withWideNumbers(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? wideNumber(value.slice(MARK.length)) : value
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string | number, unknown>
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const member = members[key]
    const exact = withWideNumbers(member)
    if (exact !== member) members[key] = exact
  }
  return value
}

/** Any number of so many decimal digits survives a double, if it is neither too large nor too small for one. */
const SAFE_DIGITS = 15
const SMALLEST = 1e-290

function isWide(source: string) {
  const value = Number(source)
  const printed = String(value)
  if (printed === source) return false
  const digits = significantDigits(source)
  if (digits === '') return false
  const isInRange = Number.isFinite(value) && Math.abs(value) >= SMALLEST
  // The engine writes no exponents: a page would show the same number in another way.
  return !isInRange || digits.length > SAFE_DIGITS || (printed.includes('e') && !/e/i.test(source))
}

function significantDigits(source: string) {
  return source
    .replace(/[eE].*$/, '')
    .replaceAll(/[-.]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '')
}

function digitsOf(number: number | WideNumber) {
  return typeof number === 'number' ? String(number) : number.rawJSON
}

/** The sign, the significant digits, and the power of ten of the first of them. */
function normalForm(source: string) {
  const digits = significantDigits(source)
  if (digits === '') return '0'
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const leading = whole.replace(/^0+/, '')
  const power = leading === '' ? -(/^0*/.exec(fraction)?.[0].length ?? 0) : leading.length
  return `${source.startsWith('-') ? '-' : ''}${digits}e${BigInt(exponent) + BigInt(power)}`
}
