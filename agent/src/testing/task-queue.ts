import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  reportTaskResponseBody,
  claimTaskBody,
  taskRequest,
  type ReportTaskResponse,
  type TaskRequest,
} from '@groundstate/contract/agent'
import { refuseAs } from './replies.ts'

/** The run task requests of the protocol server, in memory. */
export type TaskQueue = {
  /** Lets an agent send a request; resolves with its report. */
  submit: (input: Partial<TaskRequest> & { url: string }) => Promise<ReportTaskResponse>
  endClaims: () => void
  /** Pending claims. */
  claims: () => number
  response: (
    request: IncomingMessage,
    response: ServerResponse,
    given: { id: string; token: string | undefined; body: Buffer },
  ) => Promise<void>
}

export function createTaskQueue(): TaskQueue {
  const queue: TaskRequest[] = []
  const waiting = new Set<() => void>()
  const open = new Map<string, { token: string; resolve: (answer: ReportTaskResponse) => void }>()
  let sequence = 0

  function wakeAll() {
    for (const wake of waiting) wake()
  }

  async function nextRequest(waitMs: number, request: IncomingMessage) {
    if (queue.length === 0) {
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer)
          waiting.delete(end)
          resolve()
        }
        const timer = setTimeout(end, waitMs)
        request.socket.once('close', end)
        waiting.add(end)
      })
    }
    return request.socket.destroyed ? undefined : queue.shift()
  }

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
      wakeAll()
      return new Promise((resolve) => open.set(id, { token: request.token, resolve }))
    },
    endClaims: wakeAll,
    claims: () => waiting.size,
    async response(request, response, { id, token, body }) {
      const given: unknown = JSON.parse(body.toString())
      const pending = open.get(id)
      if (pending) {
        if (pending.token !== token) return refuseAs(response, 401)
        response.writeHead(204).end()
        return pending.resolve(reportTaskResponseBody.parse(given))
      }
      const found = await nextRequest(claimTaskBody.parse(given).waitMs, request)
      if (found === undefined) return void response.writeHead(204).end()
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found))
      return undefined
    },
  }
}
