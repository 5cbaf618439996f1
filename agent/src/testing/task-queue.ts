import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  reportTaskResponseBody,
  claimTaskBody,
  taskRequest,
  type ReportTaskResponse,
  type TaskRequest,
} from '@groundstate/contract/agent-requests'
import { createClaimQueue } from './claim-queue.ts'
import { refuseAs, sendJson } from './replies.ts'

/** The HTTP requests of the protocol server, in memory. */
export type TaskQueue = {
  /** Lets an agent send a request, by default of a run task; resolves with its report, the body of a long response included. */
  submit: (input: Partial<TaskRequest> & { url: string }) => Promise<ReportTaskResponse>
  endClaims: () => void
  /** Pending claims. */
  claims: () => number
  /** Kinds of work that the last claim accepts. */
  accepted: () => readonly string[]
  response: (
    request: IncomingMessage,
    response: ServerResponse,
    given: { id: string; verb: string; token: string | undefined; body: Buffer },
  ) => Promise<void>
}

type Pending = { token: string; uploaded?: Buffer; resolve: (answer: ReportTaskResponse) => void }

export function createTaskQueue(): TaskQueue {
  const queue = createClaimQueue<TaskRequest>()
  const open = new Map<string, Pending>()
  let accepted: readonly string[] = []
  let sequence = 0

  return {
    submit(input) {
      sequence += 1
      const id = `taskreq-${sequence}`
      const request = taskRequest.parse({
        id,
        token: `task-token-${sequence}`,
        leaseMs: 30_000,
        method: 'POST',
        headers: {},
        body: '',
        timeoutMs: 5_000,
        ...input,
      })
      queue.push(request)
      return new Promise((resolve) => open.set(id, { token: request.token, resolve }))
    },
    endClaims: queue.endClaims,
    claims: queue.claims,
    accepted: () => accepted,
    async response(request, response, { id, verb, token, body }) {
      const pending = open.get(id)
      if (!pending) {
        const claim = claimTaskBody.parse(JSON.parse(body.toString()))
        accepted = claim.accepts
        const found = await queue.next(claim.waitMs, request)
        return found === undefined ? void response.writeHead(204).end() : sendJson(response, found)
      }
      if (pending.token !== token) return refuseAs(response, 401)
      response.writeHead(204).end()
      if (verb === 'body') return void (pending.uploaded = body)
      const report = reportTaskResponseBody.parse(JSON.parse(body.toString()))
      const uploaded = pending.uploaded && { body: pending.uploaded.toString('base64') }
      return pending.resolve({ ...report, ...uploaded })
    },
  }
}
