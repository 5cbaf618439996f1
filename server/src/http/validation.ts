import { z } from 'zod'
import { AppError, type ErrorPart } from '../errors.ts'

/** Parses a request's body; throws `invalid` with one part, and a pointer, for each thing that is wrong. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body, { reportInput: true })
  if (result.success) return result.data
  throw new AppError(
    'invalid',
    result.error.issues.slice(0, MAX_PARTS).flatMap((issue) => parts(issue, [])),
  )
}

/** A list of ten thousand wrong items is not answered with ten thousand errors. */
const MAX_PARTS = 20

function parts(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): ErrorPart[] {
  const path = [...parent, ...issue.path]
  if (issue.code === 'invalid_union') {
    const meant = issue.errors.toSorted((a, b) => missing(a) - missing(b))[0]
    if (meant) return meant.flatMap((inner) => parts(inner, path))
  }
  const pointer = path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return [{ detail: detail(issue, nameOf(path)), source: { pointer } }]
}

/** Of several forms that a body may have, the one was meant of which least is missing. */
function missing(issues: readonly z.core.$ZodIssue[]) {
  return issues.filter((issue) => issue.code === 'invalid_type' && issue.input === undefined).length
}

/** The last name of the path, and the places in lists behind it. */
function nameOf(path: readonly PropertyKey[]) {
  const last = path.findLastIndex((step) => typeof step !== 'number')
  return path.slice(Math.max(0, last)).map(String).join('/') || 'body'
}

/** An answer is kept in places where secrets have no business, so it doesn't repeat them. */
const SECRET_NAMES = /password|secret|hmac|private-key|^(?:value|token)$/

function detail(issue: z.core.$ZodIssue, name: string) {
  const given = SECRET_NAMES.test(name) ? 'wrong (what was sent is withheld)' : shown(issue.input)
  if (issue.code === 'invalid_type') {
    return issue.input === undefined
      ? `${name} is missing`
      : `${name} is ${given}, it must be ${article(issue.expected)}`
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value)).join(', ')
    const rule = issue.values.length === 1 ? `it must be ${values}` : `it must be one of ${values}`
    return issue.input === undefined ? `${name} is missing: ${rule}` : `${name} is ${given}, ${rule}`
  }
  if (issue.code === 'custom') return issue.message
  if (issue.code === 'too_small' && isNumeric(issue.origin)) {
    return `${name} is ${given}, it must be at least ${issue.minimum}`
  }
  if (issue.code === 'too_big' && isNumeric(issue.origin)) {
    return `${name} is ${given}, it must be at most ${issue.maximum}`
  }
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)) {
    const options = issue.options.map((value) => JSON.stringify(value)).join(', ')
    const type = (issue.input as Record<string, unknown> | undefined)?.[issue.discriminator ?? '']
    return type === undefined
      ? `${name} is missing: it must be one of ${options}`
      : `${name} is ${shown(type)}, it must be one of ${options}`
  }
  const isWord = /^.[a-z]/.test(issue.message)
  const rule = isWord ? `${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}` : issue.message
  return `${name} is ${given}: ${rule}`
}

function isNumeric(origin: string) {
  return origin === 'number' || origin === 'int'
}

function shown(value: unknown) {
  const given = typeof value === 'string' ? value.slice(0, 100) : value
  const text = JSON.stringify(given, (name, inner: unknown) => (SECRET_NAMES.test(name) ? '…' : inner)) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function article(type: string) {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

/**
 * The body of a route that parses it itself, since what the caller may see is decided first: described as `schema`, and
 * passed on as it came.
 */
export function unparsed(schema: z.ZodType) {
  return z.unknown().meta(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
}
