import {
  REPORTED_BODY_BYTES,
  type ReportTaskResponse,
  type RequestKind,
  type TaskRequest,
} from '@groundstate/contract/agent-requests'
import type { App } from '../../../app.ts'
import { TASK_TRUST, failureReason } from '../../../outbound/failure.ts'
import type { Exchange, OutboundRequest } from '../../../outbound/outbound.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'

/** Margin beyond the receiver's timeout for reporting a response, in ms. */
export const REPORT_MARGIN_MS = 15_000

export type TaskPool = { id: string; name: string }

/** A request for an agent: by default a POST, of whose response the first 64 KB are returned. */
export type PoolRequest = Omit<OutboundRequest, 'body'> & {
  method?: TaskRequest['method']
  body: Buffer | null
  maxBytes?: number
}

/** Names of the kinds of work, for messages. */
export const ACCEPTED = { task: 'run tasks', repository: 'work for repositories' } as const satisfies Record<
  RequestKind,
  string
>

type Content = Pick<TaskRequest, 'url' | 'headers' | 'ca' | 'body' | 'method' | 'maxBytes'>

export const sealedRequest = sealedColumn(
  'task_requests.request',
  ['id', 'kind'],
  ({ id, kind }) => `${id}/${kind === 'git' ? 'git' : 'request'}`,
)
export const sealedResponse = sealedColumn(
  'task_requests.response',
  ['id', 'kind'],
  ({ id, kind }) => `${id}/${kind === 'git' ? 'git-answer' : 'answer'}`,
)
export const sealedContent = sealedColumn('task_requests.content', ['id'], ({ id }) => `${id}/content`)

/** Encrypts a request for its column: it contains the receiver's token. */
export function sealRequest({ secrets }: Pick<App, 'secrets'>, id: string, request: PoolRequest) {
  const { url, headers, body, ca, method = 'POST', maxBytes = REPORTED_BODY_BYTES } = request
  const content: Content = { url, headers, ca, method, maxBytes, ...(body && { body: body.toString('base64') }) }
  return secrets.seal(JSON.stringify(content), sealedRequest.context({ id, kind: 'task' }))
}

export function taskRequestDocument(
  { secrets }: Pick<App, 'secrets'>,
  row: { id: string; kind: string; request: Buffer; timeout_ms: number },
  token: string,
): TaskRequest {
  const content = JSON.parse(secrets.openText(row.request, sealedRequest.context(row))) as Content
  const { id, timeout_ms: timeoutMs } = row
  return { id, token, kind: row.kind as RequestKind, leaseMs: timeoutMs + REPORT_MARGIN_MS, timeoutMs, ...content }
}

/** Encrypts the body of a long response for its column. */
export function sealContent({ secrets }: Pick<App, 'secrets'>, id: string, content: Buffer) {
  return secrets.seal(content, sealedContent.context({ id }))
}

/** Encrypts a response for its column: a receiver may repeat what it was sent. */
export function sealResponse({ secrets }: Pick<App, 'secrets'>, id: string, response: ReportTaskResponse) {
  return secrets.seal(JSON.stringify(response), sealedResponse.context({ id, kind: 'task' }))
}

type ReportedRow = { id: string; response: Buffer; content: Buffer | null }

/** The exchange as if the server had sent the request. Addresses in the agent's network do not count as private. `startedAt` is in ms. */
export function openResponse(
  { secrets }: Pick<App, 'secrets'>,
  { id, response, content }: ReportedRow,
  startedAt: number,
): Exchange {
  const report = JSON.parse(
    secrets.openText(response, sealedResponse.context({ id, kind: 'task' })),
  ) as ReportTaskResponse
  const sent = { startedAt, durationMs: report.durationMs, isPrivate: false }
  if ('error' in report) {
    const { error, code } = report
    return {
      ...sent,
      error: failureReason(Object.assign(new Error(error), code !== undefined && { code }), TASK_TRUST),
    }
  }
  const { status, headers, isTruncated } = report
  const body = content ? secrets.open(content, sealedContent.context({ id })) : Buffer.from(report.body, 'base64')
  return { ...sent, response: { status, headers, body, truncated: isTruncated } }
}

/** Topic that wakes agents waiting for a request of the pool. */
export function queueTopic(poolId: string) {
  return `pool-tasks:${poolId}`
}

/** Topic that wakes the process waiting for the response to a request. */
export function responseTopic(requestId: string) {
  return `task-request:${requestId}`
}
