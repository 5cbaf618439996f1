/*
 * JSON as the engine writes it. Its numbers have up to 512 bits, and a double holds 53 of them: an account number of twenty
 * digits would be another one after `JSON.parse`. Node 20 and older browsers neither tell how a number was written nor write
 * one in another way, so while it is parsed or printed a wide number is a text with a mark.
 */

/** As `JSON.parse`, but a number becomes a `WideNumber` that a double does not hold, or would write with an exponent. */
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
  return value instanceof WideNumber
}

/** Whether two numbers are the same, however they are written: `1.50` and `15e-1` are. */
export function isSameNumber(one: number | WideNumber, other: number | WideNumber) {
  if (typeof one === 'number' && typeof other === 'number') return one === other
  return normalForm(digitsOf(one)) === normalForm(digitsOf(other))
}

/** A member of JSON that recent versions of JavaScript have, and the library of TypeScript has not yet. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => object }

/** The mark is random, so no text of a user begins with it. */
const MARK = `wide-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')}:`
const MARKED = new RegExp(`"${MARK}([^"]+)"`, 'g')
let isPrinting = false

/** A number as it was written. An instance of a class is copied by nobody who copies plain objects: it would be one afterwards. */
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

/**
 * What may be a wide number, without its sign: it has sixteen digits, six zeros behind its point, or an exponent of three
 * digits, and stands where a value may.
 */
const CANDIDATE = /\d(?<=(?:^|[[:,\s])-?\d)(?:[\d.]{15}|\.0{6}|[\d.]*[eE][+-]?\d{3})[\d.eE+-]*(?=\s*(?:[,\]}]|$))/g
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The text with a marked string in the place of each wide number; undefined when it has none. */
function withMarks(text: string) {
  const chunks: string[] = []
  let copied = 0
  // What is in a string is no number. Each string is passed once: there may be millions of both.
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

/** Puts wide numbers in the place of marked strings, at any depth. */
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
  return (
    source
      .replace(/[eE].*$/, '')
      .replaceAll(/[-.]/g, '')
      .replace(/^0+/, '')
      // Without the first condition, zeros in the middle would be tried from each of them.
      .replace(/(?<!0)0+$/, '')
  )
}

function digitsOf(number: number | WideNumber) {
  return typeof number === 'number' ? String(number) : number.digits
}

/** Nobody means a number with a longer exponent, and reading it would take long. */
const LONGEST_EXPONENT = 20

/** The sign, the significant digits, and the power of ten of the first of them. */
function normalForm(source: string) {
  const digits = significantDigits(source)
  if (digits === '') return '0'
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  if (exponent.length > LONGEST_EXPONENT) return source
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const leading = whole.replace(/^0+/, '')
  const power = leading === '' ? -(/^0*/.exec(fraction)?.[0].length ?? 0) : leading.length
  return `${source.startsWith('-') ? '-' : ''}${digits}e${BigInt(exponent) + BigInt(power)}`
}
