import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { urlProblem } from '../../../outbound/url.ts'
import { hasTaskAgent, sendThroughPool } from '../task-requests/send.ts'
import { requireTask, type Task } from './access.ts'
import { AGENT_POOL, URL_POINTER } from './pointers.ts'
import { describeExchange, type Receiver, taskReceiver, type Verification } from './receiver.ts'
import { taskHeaders, taskSignature, verificationRequest } from './request.ts'
import { isWithheld } from './withheld.ts'

/** A receiver answers the verification request without any work, in ms. */
const TIMEOUT_MS = 15_000
/** An agent that is online takes the verification request within this time, in ms. */
const CLAIM_MS = 5_000

/** What a refusal is blamed on. */
export type Suspect = 'url' | 'hmac-key' | 'ca-certificate' | 'agent-pool'

/** What a test of the task has shown; `isHidden` when the actor may not read the response. */
export type TaskTest = { task: Task; verification: Verification; isHidden: boolean }

/** Sends a verification request to the receiver of a task, whatever the response, and returns the whole exchange. */
export async function testTask(ctx: Ctx, id: string): Promise<TaskTest> {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const verification = await verifyReceiver(ctx, task.organization_name, taskReceiver(ctx, task))
  return { task, verification, isHidden: isWithheld(ctx, verification.exchange) }
}

/** Throws `invalid` with the response, unless the receiver answered 200; `suspect` is the attribute that is new. */
export async function checkReceiver(
  ctx: Ctx,
  { organizationName, suspect = 'url' }: { organizationName: string; suspect?: Suspect },
  receiver: Receiver,
) {
  // What an agent reaches is for its own network to allow.
  const problem = receiver.pool ? urlProblem(receiver.url, { allowPrivate: true }) : ctx.outbound.problem(receiver.url)
  if (problem !== undefined) throw invalid(problem, URL_POINTER)
  if (receiver.pool && !(await hasTaskAgent(ctx, receiver.pool))) {
    throw invalid(
      `no agent of the agent pool ${receiver.pool.name} that takes run tasks is online: start one, then send this again`,
      AGENT_POOL,
    )
  }
  const { exchange } = await verifyReceiver(ctx, organizationName, receiver)
  if (exchange.response?.status === 200) return
  const what = describeExchange(exchange, { isHidden: isWithheld(ctx, exchange) })
  throw invalid(
    `the verification request to ${receiver.url} must be answered with 200: ${what}`,
    suspect === 'agent-pool' ? AGENT_POOL : `/data/attributes/${suspect}`,
  )
}

async function verifyReceiver(ctx: Ctx, organizationName: string, receiver: Receiver): Promise<Verification> {
  const body = Buffer.from(JSON.stringify(verificationRequest(ctx.baseUrl, organizationName, ctx.now())))
  const signature = taskSignature(body, receiver.hmacKey)
  const headers = taskHeaders(ctx.baseUrl, signature)
  const { url, ca, pool } = receiver
  const request = { url, headers, body, timeoutMs: TIMEOUT_MS, ca }
  const exchange = pool
    ? await sendThroughPool(ctx, { pool, resultId: null, claimMs: CLAIM_MS }, request)
    : await ctx.outbound.post(request)
  return { request: { url, headers, body: body.toString() }, signature, exchange }
}
