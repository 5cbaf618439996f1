import type { AnswerTaskRequest, TaskRequest } from '@groundstate/contract/agent'
import type { App } from '../../../app.ts'
import { failureWords } from '../../../outbound/failure.ts'
import type { Exchange, OutboundRequest } from '../../../outbound/outbound.ts'

/** A response may be reported this long after the limit for the receiver: its body is read, and the agent connects, in ms. */
export const SLACK_MS = 15_000

/** The pool whose agents send a task's requests. */
export type TaskPool = { id: string; name: string }

type Content = Pick<OutboundRequest, 'url' | 'headers' | 'ca'> & { body: string }

/** The column for what is sent: it holds the receiver's token. */
export function sealRequest({ secrets }: Pick<App, 'secrets'>, id: string, request: OutboundRequest) {
  const { url, headers, body, ca } = request
  return secrets.seal(
    JSON.stringify({ url, headers, ca, body: body.toString('base64') } satisfies Content),
    `${id}/request`,
  )
}

/** A request as the agent receives it. */
export function taskRequestDocument(
  { secrets }: Pick<App, 'secrets'>,
  row: { id: string; request: Buffer; timeout_ms: number },
  token: string,
): TaskRequest {
  const content = JSON.parse(secrets.openText(row.request, `${row.id}/request`)) as Content
  const { id, timeout_ms: timeoutMs } = row
  return { id, token, leaseMs: timeoutMs + SLACK_MS, method: 'POST', timeoutMs, ...content }
}

/** The column for what came back: a receiver may repeat what it was sent. */
export function sealResponse({ secrets }: Pick<App, 'secrets'>, id: string, response: AnswerTaskRequest) {
  return secrets.seal(JSON.stringify(response), `${id}/answer`)
}

/**
 * What came back, as if the server had sent the request itself. The addresses of the agent's network are not this
 * server's. `startedAt` is in ms since the epoch.
 */
export function openResponse(
  { secrets }: Pick<App, 'secrets'>,
  { id, response }: { id: string; response: Buffer },
  startedAt: number,
): Exchange {
  const given = JSON.parse(secrets.openText(response, `${id}/answer`)) as AnswerTaskRequest
  const { durationMs } = given
  if ('error' in given) {
    const { error, code } = given
    return {
      startedAt,
      durationMs,
      isPrivate: false,
      error: failureWords(Object.assign(new Error(error), code !== undefined && { code })),
    }
  }
  const { status, headers, body, isTruncated } = given
  return {
    startedAt,
    durationMs,
    isPrivate: false,
    response: { status, headers, body: Buffer.from(body, 'base64'), truncated: isTruncated },
  }
}
