import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import { taskHeaders, taskSignature, verificationRequest } from './request.ts'

/** A receiver answers the check of its connection without any work, in ms. */
const TIMEOUT_MS = 15_000

export type Receiver = { url: string; hmacKey: string | undefined; ca: string | undefined }
/** What may be to blame for a refusal. */
export type Suspect = 'url' | 'hmac-key' | 'ca-certificate'
export type Verification = {
  request: { url: string; headers: Record<string, string>; body: string }
  signature: string
  exchange: Exchange
}

/** Sends the verification request to a receiver and waits for what comes back. */
export async function verifyReceiver(ctx: Ctx, organizationName: string, receiver: Receiver): Promise<Verification> {
  const body = Buffer.from(JSON.stringify(verificationRequest(ctx.baseUrl, organizationName, ctx.now())))
  const signature = taskSignature(body, receiver.hmacKey)
  const headers = taskHeaders(ctx.baseUrl, signature)
  const { url, ca } = receiver
  const exchange = await ctx.outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, ca })
  return { request: { url, headers, body: body.toString() }, signature, exchange }
}

/** Throws `invalid` with what came back, unless the receiver answered 200; `suspect` is the attribute that is new. */
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
    `the verification request to ${receiver.url} must be answered with 200: ${exchangeWords(exchange)}`,
    `/data/attributes/${suspect}`,
  )
}

/** What came of a request, in one line. */
export function exchangeWords({ answer, error }: Exchange) {
  if (!answer) return error
  const text = answer.body.toString('utf8').replaceAll(/\s+/g, ' ').trim()
  const start = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return start === '' ? `it was answered with ${answer.status}` : `it was answered with ${answer.status}: ${start}`
}
