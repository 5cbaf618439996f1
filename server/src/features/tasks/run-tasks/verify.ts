import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { requireTask, type Task } from './access.ts'
import { describeExchange, type Receiver, taskReceiver, type Verification } from './receiver.ts'
import { taskHeaders, taskSignature, verificationRequest } from './request.ts'

/** A receiver answers the verification request without any work, in ms. */
const TIMEOUT_MS = 15_000

/** The attribute that a refusal is blamed on. */
export type Suspect = 'url' | 'hmac-key' | 'ca-certificate'

/** Sends a verification request to the receiver of a task, whatever the answer, and returns the whole exchange. */
export async function testTask(ctx: Ctx, id: string): Promise<{ task: Task; verification: Verification }> {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  return { task, verification: await verifyReceiver(ctx, task.organization_name, taskReceiver(ctx, task)) }
}

/** Throws `invalid` with the answer, unless the receiver answered 200; `suspect` is the attribute that is new. */
export async function checkReceiver(
  ctx: Ctx,
  { organizationName, suspect = 'url' }: { organizationName: string; suspect?: Suspect },
  receiver: Receiver,
) {
  const problem = ctx.outbound.problem(receiver.url)
  if (problem !== undefined) throw invalid(problem, '/data/attributes/url')
  const { exchange } = await verifyReceiver(ctx, organizationName, receiver)
  if (exchange.answer?.status === 200) return
  throw invalid(
    `the verification request to ${receiver.url} must be answered with 200: ${describeExchange(exchange)}`,
    `/data/attributes/${suspect}`,
  )
}

async function verifyReceiver(ctx: Ctx, organizationName: string, receiver: Receiver): Promise<Verification> {
  const body = Buffer.from(JSON.stringify(verificationRequest(ctx.baseUrl, organizationName, ctx.now())))
  const signature = taskSignature(body, receiver.hmacKey)
  const headers = taskHeaders(ctx.baseUrl, signature)
  const { url, ca } = receiver
  const exchange = await ctx.outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, ca })
  return { request: { url, headers, body: body.toString() }, signature, exchange }
}
