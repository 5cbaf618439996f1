import { MAX_RESPONSE_BYTES, REQUEST_METHODS } from '@groundstate/contract/agent-requests'
import type { Ctx } from '../../../app.ts'
import { OutboundError, wholeResponse } from '../../../outbound/outbound.ts'
import { hasAgent, sendThroughPool } from './send.ts'
import { ACCEPTED, type TaskPool } from './task-request.ts'

/** Time within which an agent must claim a request, in ms. Agents poll, so those that are not busy do at once. */
const CLAIM_MS = 10_000
const TIMEOUT_MS = 30_000

/**
 * `fetch` for hosts of repositories that only the agents of a pool reach. Bodies are text; redirects are not followed, and a response has at
 * most 16 MB. Throws an `OutboundError` for the user, which names the pool where the agents are the problem.
 */
export function fetchThroughPool(ctx: Ctx, pool: TaskPool): typeof fetch {
  const route = { pool, kind: 'repository', resultId: null, claimMs: CLAIM_MS } as const
  return async (input, { method: given = 'GET', headers, body, signal } = {}) => {
    const method = REQUEST_METHODS.find((name) => name === given)
    if (method === undefined) throw new OutboundError(`an agent sends no ${given} requests`)
    if (!(await hasAgent(ctx, route))) throw new OutboundError(noAgent(pool))
    const exchange = await sendThroughPool(ctx, route, {
      url: input instanceof Request ? input.url : String(input),
      method,
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === 'string' ? Buffer.from(body) : null,
      maxBytes: MAX_RESPONSE_BYTES,
      timeoutMs: TIMEOUT_MS,
      signal: signal ?? undefined,
    })
    if (exchange.response) return wholeResponse(exchange.response, MAX_RESPONSE_BYTES)
    if (signal?.aborted) throw new OutboundError(`the agents of the pool ${pool.name} reported no response in time`)
    throw new OutboundError(exchange.error)
  }
}

/** For users, who have to start an agent. */
export function noAgent(pool: TaskPool) {
  return `no agent of the agent pool ${pool.name} that accepts ${ACCEPTED.repository} is online: start one, then try again`
}
