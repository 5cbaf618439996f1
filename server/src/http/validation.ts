import { itemCount } from '@groundstate/contract/json-api'
import type { z } from 'zod'
import { AppError, type ErrorPart } from '../errors.ts'

/** Parses a request's body. Throws `invalid` with a detail and a pointer for each problem. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body, { reportInput: true })
  if (result.success) return result.data
  throw new AppError(
    'invalid',
    withoutWiderLimits(result.error.issues)
      .slice(0, MAX_PARTS)
      .flatMap((issue) => parts(issue, [])),
  )
}

/** Removes the implicit limits of integers where the schema has narrower ones. */
function withoutWiderLimits(issues: readonly z.core.$ZodIssue[]) {
  return issues.filter(({ code, path }, index) => {
    if (code !== 'too_big' && code !== 'too_small') return true
    return !issues.slice(index + 1).some((later) => later.code === code && later.path.join('/') === path.join('/'))
  })
}

/** Limits the errors in one response, since a long list could have thousands. */
const MAX_PARTS = 20

function parts(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): ErrorPart[] {
  const path = [...parent, ...issue.path]
  if (issue.code === 'invalid_union') {
    const intended = issue.errors.toSorted((a, b) => missing(a) - missing(b))[0]
    if (intended) return intended.flatMap((inner) => parts(inner, path))
  }
  const pointer = path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return [{ detail: detail(issue, nameOf(path)), source: { pointer } }]
}

/** Number of missing fields; the intended variant of a union has the fewest. */
function missing(issues: readonly z.core.$ZodIssue[]) {
  return issues.filter((issue) => issue.code === 'invalid_type' && issue.input === undefined).length
}

/** The last name of the path, with the list indexes after it. */
function nameOf(path: readonly PropertyKey[]) {
  const last = path.findLastIndex((step) => typeof step !== 'number')
  return path.slice(Math.max(0, last)).map(String).join('/') || 'body'
}

/** Responses may be logged, so they do not repeat secrets. */
const SECRET_NAMES = /password|secret|hmac|private-key|ssh-key|token-string|^(?:value|token)$/

function detail(issue: z.core.$ZodIssue, name: string) {
  if (issue.code === 'too_big' && issue.origin === 'array' && hasPresetMessage(issue)) {
    return `${name} has ${itemCount(Object(issue.input))} items; it must have at most ${issue.maximum}`
  }
  const value = SECRET_NAMES.test(name) ? 'invalid (value not shown)' : shown(issue.input)
  if (issue.code === 'invalid_type') {
    // The message of `rejectedAttribute`.
    if (issue.expected === 'never') return issue.message
    if (issue.input !== undefined) return `${name} is ${value}; it must be ${article(issue.expected)}`
    return issue.message.startsWith('Invalid input') ? `${name} is missing` : `${name} is missing: ${issue.message}`
  }
  if (issue.code === 'invalid_value') {
    // An empty text is only accepted from clients that send one instead of nothing.
    const allowed = issue.values.filter((value) => value !== '')
    const values = allowed.map((value) => JSON.stringify(value)).join(', ')
    const rule = allowed.length === 1 ? `it must be ${values}` : `it must be one of ${values}`
    return issue.input === undefined ? `${name} is missing: ${rule}` : `${name} is ${value}; ${rule}`
  }
  if (issue.code === 'custom') return issue.message
  const bound = boundOf(issue)
  if (bound !== undefined) return `${name} is ${value}; it must ${bound}`
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)) {
    const options = issue.options.map((allowed) => JSON.stringify(allowed)).join(', ')
    const type = (issue.input as Record<string, unknown> | undefined)?.[issue.discriminator ?? '']
    return type === undefined
      ? `${name} is missing: it must be one of ${options}`
      : `${name} is ${shown(type)}; it must be one of ${options}`
  }
  const isWord = /^.[a-z]/.test(issue.message)
  const rule = isWord ? `${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}` : issue.message
  return `${name} is ${value}: ${rule}`
}

/** The text for a limit of size or length, unless the schema has its own message. */
function boundOf(issue: z.core.$ZodIssue) {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined
  const limit = issue.code === 'too_small' ? issue.minimum : issue.maximum
  const side = issue.code === 'too_small' ? 'least' : 'most'
  if (issue.origin === 'number' || issue.origin === 'int') {
    if (issue.inclusive !== false) return `be at ${side} ${limit}`
    return `be ${side === 'least' ? 'above' : 'below'} ${limit}`
  }
  const unit = UNITS[issue.origin]
  if (unit === undefined || !hasPresetMessage(issue)) return undefined
  if (side === 'least' && Number(limit) === 1) return 'not be empty'
  return `have ${issue.exact ? 'exactly' : `at ${side}`} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`
}

/** Whether the schema has no message for the limit. */
function hasPresetMessage({ message }: z.core.$ZodIssue) {
  return /^Too (?:small|big): expected /.test(message)
}

const UNITS: Record<string, string> = { string: 'character', array: 'item', set: 'item', file: 'byte' }

function shown(input: unknown) {
  if (typeof input === 'string') {
    const text = input.replace(/:\/\/[^/]*@/, '://…@')
    return JSON.stringify(text.length > 58 ? `${text.slice(0, 57)}…` : text)
  }
  const text = JSON.stringify(input, (name, inner: unknown) => (SECRET_NAMES.test(name) ? '…' : inner)) ?? String(input)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

const TYPE_NAMES: Record<string, string> = { int: 'whole number', record: 'object' }

function article(expected: string) {
  const type = TYPE_NAMES[expected] ?? expected
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}
