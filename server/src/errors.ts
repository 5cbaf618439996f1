/**
 * What can go wrong for a caller. Kinds know nothing of HTTP: `http/errors.ts` has the one table from kind to status.
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
 * An error that is the caller's to read: its `detail` is lower case without a full stop, names the value and says what
 * would be right. Everything else that is thrown is a bug, and is answered as an opaque 500.
 */
export class AppError extends Error {
  readonly kind: ErrorKind
  /** One entry for each thing that is wrong; the first is the message. */
  readonly parts: readonly ErrorPart[]
  /** For `too-many-requests` and `unavailable`: when to come back, in ms. */
  readonly retryAfterMs: number | undefined

  constructor(kind: ErrorKind, parts: readonly ErrorPart[], options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(parts[0]?.detail ?? kind, { cause: options.cause })
    this.name = 'AppError'
    this.kind = kind
    this.parts = parts
    this.retryAfterMs = options.retryAfterMs
  }
}

/** What may not be seen is answered as what does not exist: `noun` is the resource's name, such as `workspace`. `source` tells where the id stood. */
export function notFound(noun: string, source?: ErrorSource) {
  const detail = `${noun} not found, or you are not authorized to see it`
  return new AppError('not-found', [source === undefined ? { detail } : { detail, source }])
}

export function unauthorized(detail = 'a valid token is required') {
  return new AppError('unauthorized', [{ detail }])
}

export function forbidden(detail: string) {
  return new AppError('forbidden', [{ detail }])
}

/** What does not fit what there is; `pointer` is a JSON pointer to the part of the body, where there is one. */
export function conflict(detail: string, pointer?: string) {
  return new AppError('conflict', [pointed(detail, pointer)])
}

/** As `conflict`, for what is behind. */
export function preconditionFailed(detail: string, pointer?: string) {
  return new AppError('precondition-failed', [pointed(detail, pointer)])
}

/** A body that can't be accepted as it stands; `pointer` is a JSON pointer into it. */
export function invalid(detail: string, pointer?: string) {
  return new AppError('invalid', [pointed(detail, pointer)])
}

function pointed(detail: string, pointer: string | undefined): ErrorPart {
  return pointer === undefined ? { detail } : { detail, source: { pointer } }
}

/** A query that can't be accepted as it stands; `parameter` names it. */
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
