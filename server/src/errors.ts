/** The kinds of errors that a caller can cause or encounter. `http/errors.ts` maps them to HTTP statuses. */
export type ErrorKind =
  | 'bad-request'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'precondition-failed'
  | 'too-large'
  | 'unsupported-media-type'
  | 'range-not-satisfiable'
  | 'invalid'
  | 'too-many-requests'
  | 'unavailable'

type ErrorSource = { pointer?: string; parameter?: string }
export type ErrorPart = { detail: string; source?: ErrorSource | undefined }

/**
 * An error for the caller. Its `detail` is lower case without a full stop, names the value and what is expected. Any other error is a bug,
 * and its response is an opaque 500.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly kind: ErrorKind
  /** One part for each problem; the first is the message. */
  readonly parts: readonly ErrorPart[]
  /** For `too-many-requests` and `unavailable`: delay before a retry, in ms. */
  readonly retryAfterMs: number | undefined

  constructor(
    kind: ErrorKind,
    parts: readonly ErrorPart[],
    options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) {
    super(parts[0]?.detail ?? kind, { cause: options.cause })
    this.kind = kind
    this.parts = parts
    this.retryAfterMs = options.retryAfterMs
  }
}

/** A resource that is missing or that the caller may not see. `noun` is its name, such as `workspace`; `source` locates the id. */
export function notFound(noun: string, source?: ErrorSource) {
  return new AppError('not-found', [{ detail: `${noun} not found, or you are not authorized to see it`, source }])
}

/** Something that was deleted after its retention period. `what` names it: `the log of plan-…`. */
export function noLongerKept(what: string, deletedAt: Date) {
  const detail = `${what} is no longer kept: it was deleted at ${deletedAt.toISOString()}`
  return new AppError('not-found', [{ detail }])
}

export function unauthorized(detail = 'a valid token is required') {
  return new AppError('unauthorized', [{ detail }])
}

/** Creates errors about a request; `pointer` is a JSON pointer to the part of the body, if any. */
function ofBody(kind: ErrorKind) {
  return (detail: string, pointer?: string) =>
    new AppError(kind, [{ detail, source: pointer === undefined ? undefined : { pointer } }])
}

export const forbidden: (detail: string) => AppError = ofBody('forbidden')
export const tooLarge: (detail: string) => AppError = ofBody('too-large')
export const conflict = ofBody('conflict')
/** As `conflict`, for an outdated copy of the caller. */
export const preconditionFailed = ofBody('precondition-failed')
export const invalid = ofBody('invalid')

/** An invalid query; `parameter` is the name of the parameter. */
export function badRequest(detail: string, parameter?: string) {
  return new AppError('bad-request', [{ detail, source: parameter === undefined ? undefined : { parameter } }])
}

export function invalidParameter(detail: string, parameter: string) {
  return new AppError('invalid', [{ detail, source: { parameter } }])
}

export function tooManyRequests(detail: string, retryAfterMs: number) {
  return new AppError('too-many-requests', [{ detail }], { retryAfterMs })
}

export function unavailable(detail: string, retryAfterMs?: number, cause?: unknown) {
  return new AppError('unavailable', [{ detail }], { cause, retryAfterMs })
}
