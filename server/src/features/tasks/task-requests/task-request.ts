import type { ReportTaskResponse, TaskRequest } from '@groundstate/contract/agent'
import type { App } from '../../../app.ts'
import { TASK_TRUST, failureReason } from '../../../outbound/failure.ts'
import type { Exchange, OutboundRequest } from '../../../outbound/outbound.ts'

/** Margin beyond the receiver's timeout for reporting a response, in ms. */
export const REPORT_MARGIN_MS = 15_000

export type TaskPool = { id: string; name: string }

type Content = Pick<OutboundRequest, 'url' | 'headers' | 'ca'> & { body: string }

/** Encrypts a request for its column: it contains the receiver's token. */
export function sealRequest({ secrets }: Pick<App, 'secrets'>, id: string, request: OutboundRequest) {
  const { url, headers, body, ca } = request
  const content: Content = { url, headers, ca, body: body.toString('base64') }
  return secrets.seal(JSON.stringify(content), `${id}/request`)
}

export function taskRequestDocument(
  { secrets }: Pick<App, 'secrets'>,
  row: { id: string; request: Buffer; timeout_ms: number },
  token: string,
): TaskRequest {
  const content = JSON.parse(secrets.openText(row.request, `${row.id}/request`)) as Content
  const { id, timeout_ms: timeoutMs } = row
  return { id, token, leaseMs: timeoutMs + REPORT_MARGIN_MS, method: 'POST', timeoutMs, ...content }
}

/** Encrypts a response for its column: a receiver may repeat what it was sent. */
export function sealResponse({ secrets }: Pick<App, 'secrets'>, id: string, response: ReportTaskResponse) {
  return secrets.seal(JSON.stringify(response), `${id}/answer`)
}

/** The exchange as if the server had sent the request. Addresses in the agent's network do not count as private. `startedAt` is in ms. */
export function openResponse(
  { secrets }: Pick<App, 'secrets'>,
  { id, response }: { id: string; response: Buffer },
  startedAt: number,
): Exchange {
  const report = JSON.parse(secrets.openText(response, `${id}/answer`)) as ReportTaskResponse
  const sent = { startedAt, durationMs: report.durationMs, isPrivate: false }
  if ('error' in report) {
    const { error, code } = report
    return {
      ...sent,
      error: failureReason(Object.assign(new Error(error), code !== undefined && { code }), TASK_TRUST),
    }
  }
  const { status, headers, body, isTruncated } = report
  return { ...sent, response: { status, headers, body: Buffer.from(body, 'base64'), truncated: isTruncated } }
}

/** Topic that wakes agents waiting for a request of the pool. */
export function queueTopic(poolId: string) {
  return `pool-tasks:${poolId}`
}

/** Topic that wakes the process waiting for the response to a request. */
export function responseTopic(requestId: string) {
  return `task-request:${requestId}`
}
