/**
 * The kinds of errors that a caller can cause or meet. They are independent of HTTP: `http/errors.ts` maps them to
 * statuses.
 */
export const ERROR_KINDS = [
  'bad-request',
  'unauthorized',
  'forbidden',
  'not-found',
  'conflict',
  'precondition-failed',
  'too-large',
  'unsupported-media-type',
  'range-not-satisfiable',
  'invalid',
  'too-many-requests',
  'unavailable',
] as const
export type ErrorKind = (typeof ERROR_KINDS)[number]

export type ErrorSource = { pointer?: string; parameter?: string }
export type ErrorPart = { detail: string; source?: ErrorSource }

/**
 * An error for the caller. Its `detail` is lower case without a full stop, names the value and says what would be
 * right. Any other error is a bug, and is answered as an opaque 500.
 */
export class AppError extends Error {
  readonly kind: ErrorKind
  /** One part for each problem; the first is the message. */
  readonly parts: readonly ErrorPart[]
  /** For `too-many-requests` and `unavailable`: when to try again, in ms. */
  readonly retryAfterMs: number | undefined

  constructor(kind: ErrorKind, parts: readonly ErrorPart[], options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(parts[0]?.detail ?? kind, { cause: options.cause })
    this.name = 'AppError'
    this.kind = kind
    this.parts = parts
    this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * A missing resource, and one that the caller may not see. `noun` is the resource's name, such as `workspace`; `source`
 * is where the id stood.
 */
export function notFound(noun: string, source?: ErrorSource) {
  const detail = `${noun} not found, or you are not authorized to see it`
  return new AppError('not-found', [source === undefined ? { detail } : { detail, source }])
}

/** Something that was deleted after its retention period. `what` names it: `the log of plan-…`. */
export function noLongerKept(what: string, deletedAt: Date) {
  return new AppError('not-found', [
    { detail: `${what} is no longer kept: it was deleted at ${deletedAt.toISOString()}` },
  ])
}

export function unauthorized(detail = 'a valid token is required') {
  return new AppError('unauthorized', [{ detail }])
}

export function forbidden(detail: string) {
  return new AppError('forbidden', [{ detail }])
}

/** A conflict with existing data; `pointer` is a JSON pointer to the part of the body, if any. */
export function conflict(detail: string, pointer?: string) {
  return new AppError('conflict', [pointed(detail, pointer)])
}

/** As `conflict`, when the caller's copy is outdated. */
export function preconditionFailed(detail: string, pointer?: string) {
  return new AppError('precondition-failed', [pointed(detail, pointer)])
}

/** An invalid body; `pointer` is a JSON pointer into it. */
export function invalid(detail: string, pointer?: string) {
  return new AppError('invalid', [pointed(detail, pointer)])
}

function pointed(detail: string, pointer: string | undefined): ErrorPart {
  return pointer === undefined ? { detail } : { detail, source: { pointer } }
}

/** An invalid query; `parameter` is the name of the parameter. */
export function badRequest(detail: string, parameter?: string) {
  return new AppError('bad-request', [parameter === undefined ? { detail } : { detail, source: { parameter } }])
}

/** As `invalid`, for a query parameter. */
export function invalidParameter(detail: string, parameter: string) {
  return new AppError('invalid', [{ detail, source: { parameter } }])
}

export function tooLarge(detail: string) {
  return new AppError('too-large', [{ detail }])
}

export function tooManyRequests(detail: string, retryAfterMs: number) {
  return new AppError('too-many-requests', [{ detail }], { retryAfterMs })
}

export function unavailable(detail: string, retryAfterMs?: number) {
  return new AppError('unavailable', [{ detail }], retryAfterMs === undefined ? {} : { retryAfterMs })
}
