import type { Ctx } from '../../../app.ts'
import { attemptColumns, describeExchange, isWithheld } from '../../../deliveries/attempts.ts'
import { AppError, invalid } from '../../../errors.ts'
import { verificationOf } from './content.ts'
import { recipientsOf } from './recipients.ts'
import { type Attempt, isDelivered, sendMessage } from './send.ts'
import type { Target } from './target.ts'

/** The response to the latest verification, as stored. */
export type Verification = {
  body: string
  code: string
  headers: Record<string, string[]>
  sent_at: string
  successful: boolean
  is_private: boolean
  /** The addresses that a mail server refused. */
  refused?: readonly string[]
}

type Verified = { id: string; name: string; place: string; target: Target }

/**
 * Sends a verification and returns the response to store. Throws `bad-request` with the response unless that is 2xx. No transaction is open during the
 * request.
 */
export async function verify(ctx: Ctx, { id, name, place, target }: Verified): Promise<Verification> {
  const isMail = target.type === 'email'
  const { addresses: recipients, problem } = isMail ? await recipientsOf(ctx, id) : { addresses: [], problem: null }
  if (problem !== null) throw refused(problem, target)
  const sent = { target, content: verificationOf({ id, name }, place), mailTo: { recipients } }
  const attempt = await sendMessage(ctx, sent, new AbortController().signal)
  const { exchange } = attempt
  if (!isDelivered(exchange)) {
    const result = describeExchange(exchange, { isHidden: isWithheld(ctx, exchange) })
    throw refused(
      isMail
        ? `the verification could not be sent: ${result}`
        : `the verification request must return a status of 200 to 299: ${result}`,
      target,
    )
  }
  return verificationColumn(ctx, attempt)
}

/** Throws `invalid` for a URL to which no request may go. */
export function checkUrl(ctx: Ctx, url: string) {
  const problem = ctx.outbound.problem(url)
  if (problem !== undefined) throw invalid(problem, '/data/attributes/url')
}

function refused(detail: string, { type }: Target) {
  const source = type === 'email' ? {} : { source: { pointer: '/data/attributes/url' } }
  return new AppError('bad-request', [{ detail, ...source }])
}

function verificationColumn(ctx: Ctx, attempt: Attempt): Verification {
  const columns = attemptColumns(ctx, attempt)
  const headers = Object.entries(columns.response_headers ?? {}).map(([name, value]) => [name, [value].flat()])
  return {
    body: columns.response_body?.toString('utf8').replaceAll('\0', '\u{FFFD}') ?? '',
    code: String(columns.response_status),
    headers: Object.fromEntries(headers) as Record<string, string[]>,
    sent_at: columns.sent_at.toISOString(),
    successful: true,
    is_private: columns.is_private,
    ...(attempt.refused && { refused: attempt.refused }),
  }
}
