/*
 * JSON with the engine's number precision. The engine's numbers have up to 512 bits and a double holds 53, so `JSON.parse` would change a
 * twenty-digit account number. Node 20 and older browsers expose neither the source text of a number nor raw JSON output, so wide numbers
 * become marked strings while a document is parsed or printed.
 */

/** As `JSON.parse`, but a number that a double cannot hold, or would print with an exponent, becomes a `WideNumber`. */
export function parseExact(text: string): unknown {
  const marked = withMarks(text)
  if (marked === undefined) return JSON.parse(text)
  try {
    return withWideNumbers(JSON.parse(marked))
  } catch (error) {
    // Parse the original text, so that the error reports the right position.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

/** As `JSON.stringify`, keeping all digits of wide numbers. */
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
  return value instanceof WideNumber
}

/** Whether two numbers are equal in value: `1.50` equals `15e-1`. */
export function isSameNumber(one: number | WideNumber, other: number | WideNumber) {
  if (typeof one === 'number' && typeof other === 'number') return one === other
  return normalForm(digitsOf(one)) === normalForm(digitsOf(other))
}

/** Available in recent JavaScript engines, missing from TypeScript's library. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => object }

/** Random, so that no user's string can begin with it. */
const MARK = `wide-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')}:`
const MARKED = new RegExp(`"${MARK}([^"]+)"`, 'g')
let isPrinting = false

/** A number with all its digits. A class, so that code which copies plain objects leaves it unchanged. */
class WideNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toJSON() {
    if (rawJSON !== undefined) return rawJSON(this.digits)
    return isPrinting ? MARK + this.digits : Number(this.digits)
  }
}

export type { WideNumber }

/** Possible wide numbers without sign: sixteen digits, six zeros after the decimal point, or a three-digit exponent, at the position of a value. */
const CANDIDATE = /\d(?<=(?:^|[[:,\s])-?\d)(?:[\d.]{15}|\.0{6}|[\d.]*[eE][+-]?\d{3})[\d.eE+-]*(?=\s*(?:[,\]}]|$))/g
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Replaces each wide number with a marked string; undefined when there is none. */
function withMarks(text: string) {
  const chunks: string[] = []
  let copied = 0
  // Digits inside strings do not count. Each string is skipped once, as there may be millions of strings and numbers.
  let nextString = indexOrEnd(text, 0)
  let endOfFormer = 0
  for (const { 0: unsigned, index } of text.matchAll(CANDIDATE)) {
    const start = text[index - 1] === '-' ? index - 1 : index
    const digits = text.slice(start, index + unsigned.length)
    while (nextString < start) {
      endOfFormer = endOfString(text, nextString)
      nextString = indexOrEnd(text, endOfFormer)
    }
    if (start < endOfFormer || !NUMBER.test(digits) || !isWide(digits)) continue
    chunks.push(text.slice(copied, start), `"${MARK}${digits}"`)
    copied = start + digits.length
  }
  return chunks.length === 0 ? undefined : chunks.join('') + text.slice(copied)
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

/** Replaces marked strings with wide numbers, at any depth. */
function withWideNumbers(document: unknown): unknown {
  const root = [document]
  const open: Record<string | number, unknown>[] = [root as never]
  for (let members = open.pop(); members !== undefined; members = open.pop()) {
    for (const key of Array.isArray(members) ? members.keys() : Object.keys(members)) {
      const member = members[key]
      if (typeof member === 'string') {
        if (member.startsWith(MARK)) members[key] = new WideNumber(member.slice(MARK.length))
      } else if (typeof member === 'object' && member !== null) open.push(member as Record<string, unknown>)
    }
  }
  return root[0]
}

/** Decimal digits that a double preserves, within its range. */
const SAFE_DIGITS = 15
const SMALLEST = 1e-290

function isWide(source: string) {
  const value = Number(source)
  const printed = String(value)
  if (printed === source) return false
  const digits = significantDigits(source)
  if (digits === '') return false
  const isInRange = Number.isFinite(value) && Math.abs(value) >= SMALLEST
  // The engine prints no exponents, so the number would look different.
  return !isInRange || digits.length > SAFE_DIGITS || (printed.includes('e') && !/e/i.test(source))
}

function significantDigits(source: string) {
  return (
    source
      .replace(/[eE].*$/, '')
      .replaceAll(/[-.]/g, '')
      .replace(/^0+/, '')
      // The look-behind avoids quadratic matching of zeros in the middle.
      .replace(/(?<!0)0+$/, '')
  )
}

function digitsOf(number: number | WideNumber) {
  return typeof number === 'number' ? String(number) : number.digits
}

/** Numbers with a longer exponent are compared as text, since expanding them would take too long. */
const MAX_EXPONENT_LENGTH = 20

/** Sign, significant digits, and the exponent of the first digit. */
function normalForm(source: string) {
  const digits = significantDigits(source)
  if (digits === '') return '0'
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  if (exponent.length > MAX_EXPONENT_LENGTH) return source
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const leading = whole.replace(/^0+/, '')
  const power = leading === '' ? -(/^0*/.exec(fraction)?.[0].length ?? 0) : leading.length
  return `${source.startsWith('-') ? '-' : ''}${digits}e${BigInt(exponent) + BigInt(power)}`
}

/** Whether two parsed JSON values are equal. Member order is ignored; null differs from a missing member. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return isSameNumber(one, other)
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSameJson(item, other[index]))
    )
  }
  if (!isObject(one) || !isObject(other)) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  )
}

function isNumber(value: unknown) {
  return typeof value === 'number' || isWideNumber(value)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isWideNumber(value)
}
