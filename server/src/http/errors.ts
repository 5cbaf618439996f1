import type { ErrorsDocument } from '@groundstate/contract/responses'
import type { AppError, ErrorKind } from '../errors.ts'

/** The only table of HTTP statuses; a kind of error without a status does not compile. */
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

/**
 * A JSON:API error document. `status` is a string: clients in Go can't decode a number there, and show only the HTTP
 * status line.
 */
export function errorDocument(error: AppError): ErrorsDocument {
  const [status, title] = STATUS[error.kind]
  return {
    errors: error.parts.map((part) => ({
      status: String(status),
      title,
      detail: shortened(part.detail),
      ...(part.source && { source: part.source }),
    })),
  }
}

/** A detail may repeat what was sent, which may be as long as the body. */
const MAX_DETAIL = 1000

function shortened(detail: string) {
  return detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…`.toWellFormed() : detail
}

/** The response to a bug. It has only the request id, which identifies the log line. */
export function opaqueErrorDocument(requestId: string): ErrorsDocument {
  return {
    errors: [
      {
        status: '500',
        title: 'internal server error',
        detail: `something went wrong; the log has request ${requestId}`,
      },
    ],
  }
}
