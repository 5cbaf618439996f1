import type { Ctx } from '../../../app.ts'
import { bodySignature, describeExchange, isWithheld } from '../../../deliveries/attempts.ts'
import { invalid } from '../../../errors.ts'
import { urlProblem } from '../../../outbound/addresses.ts'
import { TASK_TRUST } from '../../../outbound/failure.ts'
import { hasAgent, sendThroughPool } from '../task-requests/send.ts'
import { requireTask } from './access.ts'
import { type Receiver, type Verification, taskReceiver } from './receiver.ts'
import { taskHeaders, verificationRequest } from './request.ts'

/** Timeout of the verification request, in ms. */
const TIMEOUT_MS = 15_000
/** Time within which an online agent must claim the verification request, in ms. */
const CLAIM_MS = 5_000

/** The attribute that a rejection is attributed to. */
export type Suspect = 'url' | 'hmac-key' | 'ca-certificate' | 'agent-pool'

/** Sends a verification request to the receiver of a task. `isHidden` if the actor may not read the response. */
export async function testTask(ctx: Ctx, id: string) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const verification = await verifyReceiver(ctx, task.organization_name, taskReceiver(ctx, task))
  return { task, verification, isHidden: isWithheld(ctx, verification.exchange) }
}

/** Throws `invalid` with the response unless the receiver returned 200; `suspect` is the changed attribute. */
export async function checkReceiver(
  ctx: Ctx,
  { organizationName, suspect = 'url' }: { organizationName: string; suspect?: Suspect },
  receiver: Receiver,
) {
  // Private addresses are allowed, as the agent's own network decides what it reaches.
  const problem = receiver.pool ? urlProblem(receiver.url, { allowPrivate: true }) : ctx.outbound.problem(receiver.url)
  if (problem !== undefined) throw invalid(problem, '/data/attributes/url')
  if (receiver.pool && !(await hasAgent(ctx, { pool: receiver.pool, kind: 'task' }))) {
    throw invalid(
      `no agent of the agent pool ${receiver.pool.name} that accepts run tasks is online: start one, then try again`,
      AGENT_POOL,
    )
  }
  const { exchange } = await verifyReceiver(ctx, organizationName, receiver)
  if (exchange.response?.status === 200) return
  const result = describeExchange(exchange, { isHidden: isWithheld(ctx, exchange) })
  throw invalid(
    `the verification request to ${receiver.url} must return 200: ${result}`,
    suspect === 'agent-pool' ? AGENT_POOL : `/data/attributes/${suspect}`,
  )
}

async function verifyReceiver(ctx: Ctx, organizationName: string, receiver: Receiver): Promise<Verification> {
  const body = Buffer.from(JSON.stringify(verificationRequest(ctx.baseUrl, organizationName, ctx.now())))
  const signature = bodySignature(body, receiver.hmacKey)
  const headers = taskHeaders(ctx.baseUrl, signature)
  const { url, ca, pool } = receiver
  const request = { url, headers, body, timeoutMs: TIMEOUT_MS, ca }
  const exchange = pool
    ? await sendThroughPool(ctx, { pool, kind: 'task', resultId: null, claimMs: CLAIM_MS }, request)
    : await ctx.outbound.post({ ...request, trust: TASK_TRUST })
  return { request: { url, headers, body: body.toString() }, signature, exchange }
}

/** Pointer to the agent pool in the body of a request that changes a task. */
export const AGENT_POOL = '/data/relationships/agent-pool/data/id'
