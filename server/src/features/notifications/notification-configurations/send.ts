import type { Ctx } from '../../../app.ts'
import { bodySignature, userAgent } from '../../../deliveries/attempts.ts'
import { type MailOutcome, sendMails } from '../../../mail/mail.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import type { Content } from './content.ts'
import { notificationMail } from './email.ts'
import { genericPayload } from './generic.ts'
import { teamsMessage } from './microsoft-teams.ts'
import { slackMessage } from './slack.ts'
import type { Target } from './target.ts'

/** Time limit for a response, in ms. */
const TIMEOUT_MS = 15_000
export const SIGNATURE_HEADER = 'X-TFE-Notification-Signature'

/** The message of each kind of destination that receives requests. */
const PAYLOADS = {
  generic: genericPayload,
  slack: slackMessage,
  'microsoft-teams': teamsMessage,
} as const satisfies Record<Exclude<Target['type'], 'email'>, (baseUrl: string, content: Content) => unknown>

export type SentRequest = { url: string; headers: Record<string, string>; body: Buffer }

/** An attempt to send a message. The log must not contain `secrets`. */
export type Attempt = { request: SentRequest; exchange: Exchange; secrets: string[] }

type MailTo = { recipients: readonly string[]; onAccepted?: (address: string) => Promise<void> }

/** Sends a message once, by mail to `mailTo`. Never throws because of the destination. */
export async function sendMessage(
  ctx: Ctx,
  { target, content, mailTo }: { target: Target; content: Content; mailTo: MailTo },
  signal: AbortSignal,
): Promise<Attempt> {
  const { type, url = '', token } = target
  if (type === 'email') return sendMail(ctx, content, { mailTo, signal })
  // Serialised once: these exact bytes are signed and sent.
  const body = Buffer.from(JSON.stringify(PAYLOADS[type](ctx.baseUrl, content)))
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': userAgent(ctx.baseUrl),
    accept: '*/*',
    ...(token !== undefined && { [SIGNATURE_HEADER]: bodySignature(body, token) }),
  }
  const exchange = await ctx.outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, signal })
  return { request: { url, headers, body }, exchange, secrets: [url, ...(token === undefined ? [] : [token])] }
}

async function sendMail(
  ctx: Ctx,
  content: Content,
  { mailTo, signal }: { mailTo: MailTo; signal: AbortSignal },
): Promise<Attempt> {
  const { recipients, onAccepted = async () => {} } = mailTo
  const mail = notificationMail(ctx.baseUrl, content)
  const startedAt = Date.now()
  const started = performance.now()
  const outcome = await sendMails(ctx, mail, { recipients, signal, onAccepted })
  const measured = { startedAt, durationMs: Math.round(performance.now() - started), isPrivate: false }
  const headers = { to: recipients.join(', '), subject: mail.subject }
  return {
    request: { url: 'mailto:', headers, body: Buffer.from(mail.text) },
    exchange: { ...measured, ...mailResult(outcome, recipients.length) },
    secrets: [],
  }
}

function mailResult({ rejected, reply, error }: MailOutcome, count: number) {
  if (error !== undefined) return { error }
  const refused = rejected.length === 0 ? '' : `the mail server refused these recipients: ${rejected.join(', ')}`
  // A retry would be in vain if some got it, and if all were refused.
  const status = rejected.length === count ? 550 : (reply?.status ?? 250)
  const text = [reply?.text, refused].filter((line) => line !== undefined && line !== '').join('\n')
  return { response: { status, headers: {}, body: Buffer.from(text), truncated: false } }
}

export function isDelivered({ response }: Exchange) {
  return response !== undefined && response.status >= 200 && response.status < 300
}
