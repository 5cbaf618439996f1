/*
 * JSON as the engine writes it. Its numbers have up to 512 bits, and a double holds 53 of them: an account number of twenty
 * digits would be another one after `JSON.parse`.
 */

/** A number that no double holds, with its digits as they were read. `JSON.stringify` writes them again. */
export type WideNumber = { readonly rawJSON: string }

/** Members of JSON that this version of Node.js has, and the library of TypeScript has not yet. */
type SourceTextAccess = {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): WideNumber
  isRawJSON(value: unknown): value is WideNumber
}
const { parse, rawJSON, isRawJSON } = JSON as unknown as SourceTextAccess

/** As `JSON.parse`, but a number that no double holds becomes a `WideNumber`. */
export function parseExact(text: string): unknown {
  // Most documents have none, and are parsed four times as fast without a look at each number.
  if (!MAYBE_WIDE.test(text)) return JSON.parse(text)
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && isRounded(value, source) ? rawJSON(source) : value,
  )
}

export function isWideNumber(value: unknown): value is WideNumber {
  return isRawJSON(value)
}

/** Sixteen digits, or an exponent of three. */
const MAYBE_WIDE = /\d[\d.]{15}|\d[eE][+-]?\d{3}/
/** Any number of so many decimal digits survives a double, if it is neither too large nor too small for one. */
const SAFE_DIGITS = 15
const SMALLEST = 1e-290

function isRounded(value: number, source: string) {
  if (String(value) === source) return false
  const digits = source
    .replace(/[eE].*$/, '')
    .replaceAll(/[-.]/g, '')
    .replace(/^0+/, '')
  if (digits === '') return false
  const isInRange = Number.isFinite(value) && Math.abs(value) >= SMALLEST
  return !isInRange || digits.replace(/0+$/, '').length > SAFE_DIGITS
}
