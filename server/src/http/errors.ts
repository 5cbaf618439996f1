import type { ErrorsDocument } from '@groundstate/contract/responses'
import type { AppError, ErrorKind } from '../errors.ts'

const STATUS = {
  'bad-request': [400, 'bad request'],
  unauthorized: [401, 'unauthorized'],
  forbidden: [403, 'forbidden'],
  'not-found': [404, 'not found'],
  conflict: [409, 'conflict'],
  'precondition-failed': [412, 'precondition failed'],
  'too-large': [413, 'payload too large'],
  'unsupported-media-type': [415, 'unsupported media type'],
  'range-not-satisfiable': [416, 'range not satisfiable'],
  invalid: [422, 'invalid attribute'],
  'too-many-requests': [429, 'too many requests'],
  unavailable: [503, 'service unavailable'],
} as const satisfies Record<ErrorKind, readonly [status: number, title: string]>

export function errorStatus(error: AppError) {
  return STATUS[error.kind][0]
}

/** A detail may quote a value that is as long as the body. */
const MAX_DETAIL = 1000

/** A JSON:API error document. `status` is a string: Go clients cannot decode a number there and show only the HTTP status line. */
export function errorDocument({ kind, parts }: AppError): ErrorsDocument {
  const [status, title] = STATUS[kind]
  const errors = parts.map(({ detail, source }) => ({
    status: String(status),
    title,
    detail: detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…`.toWellFormed() : detail,
    ...(source && { source }),
  }))
  return { errors }
}

/** The response to a bug, with only the request id that identifies the log line. */
export function opaqueErrorDocument(requestId: string): ErrorsDocument {
  const detail = `something went wrong; the log has request ${requestId}`
  return { errors: [{ status: '500', title: 'internal server error', detail }] }
}
