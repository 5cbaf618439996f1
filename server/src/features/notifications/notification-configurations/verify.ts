import type { Ctx } from '../../../app.ts'
import { attemptColumns, describeExchange, isWithheld } from '../../../deliveries/attempts.ts'
import { AppError, invalid } from '../../../errors.ts'
import { verificationOf } from './content.ts'
import { listRecipients } from './recipients-store.ts'
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
}

type Verified = { id: string; name: string; target: Target }

/**
 * Sends a verification and returns the response to store; null for e-mail, which has none. Throws `bad-request` with the response unless that is 2xx. No
 * transaction is open during the request.
 */
export async function verify(ctx: Ctx, { id, name, target }: Verified): Promise<Verification | null> {
  const recipients = target.type === 'email' ? await recipientsOf(ctx, id) : []
  if (target.type === 'email' && recipients.length === 0)
    throw refused('nobody receives it: name users who may see it and want such e-mails')
  const sent = { target, content: verificationOf({ id, name }), mailTo: { recipients } }
  const attempt = await sendMessage(ctx, sent, new AbortController().signal)
  const { exchange } = attempt
  if (!isDelivered(exchange)) {
    const result = describeExchange(exchange, { isHidden: isWithheld(ctx, exchange) })
    throw refused(
      target.type === 'email'
        ? `the verification could not be sent: ${result}`
        : `the verification request must return a status of 200 to 299: ${result}`,
    )
  }
  return target.type === 'email' ? null : verificationColumn(ctx, attempt)
}

export async function recipientsOf(ctx: Ctx, configurationId: string) {
  return listRecipients(ctx.db, configurationId, ctx.config.notificationEmailAddresses === 'allow')
}

/** Throws `invalid` for a URL to which no request may go. */
export function checkUrl(ctx: Ctx, url: string) {
  const problem = ctx.outbound.problem(url)
  if (problem !== undefined) throw invalid(problem, '/data/attributes/url')
}

function refused(detail: string) {
  return new AppError('bad-request', [{ detail, source: { pointer: '/data/attributes/url' } }])
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
  }
}
