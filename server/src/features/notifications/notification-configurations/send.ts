import type { Ctx } from '../../../app.ts'
import { bodySignature, userAgent } from '../../../deliveries/attempts.ts'
import { type MailOutcome, type MailReply, isTransient, sendMails } from '../../../mail/mail.ts'
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

/**
 * An attempt to send a message. The log must not contain `secrets`. After a final one, a retry would be in vain. `refused` are the addresses that a mail
 * server refused for good.
 */
export type Attempt = {
  request: SentRequest
  exchange: Exchange
  secrets: readonly string[]
  isFinal?: boolean
  refused?: readonly string[]
}

/** `wasDelivered`: others have got the mail in earlier attempts. */
type MailTo = {
  recipients: readonly string[]
  wasDelivered?: boolean
  onEnd?: (reply: MailReply) => Promise<void>
}

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
  return { request: { url, headers, body }, exchange, secrets: secretsOf(target) }
}

/** Shorter parts of a URL are not secret, and replacing them would make a log unreadable. */
const MIN_SECRET = 4
const MIN_SEGMENT = 16

/** The texts that a log must not contain, the longest first: the token, the URL, and its parts as pages of errors show them. */
export function secretsOf({ url, token }: Pick<Target, 'url' | 'token'>): string[] {
  const parsed = url === undefined ? null : URL.parse(url)
  const parts = parsed
    ? [
        `${parsed.pathname}${parsed.search}`,
        parsed.pathname,
        parsed.search,
        parsed.username,
        parsed.password,
        ...[...parsed.pathname.split('/'), ...parsed.searchParams.values()].filter(
          (text) => text.length >= MIN_SEGMENT,
        ),
      ].filter((text) => text.length >= MIN_SECRET)
    : []
  const texts = [url, ...parts].flatMap((text) => (text === undefined ? [] : [text, decoded(text), escaped(text)]))
  return [...new Set([...(token === undefined ? [] : [token]), ...texts])].toSorted((a, b) => b.length - a.length)
}

function decoded(text: string) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function escaped(text: string) {
  return text.replaceAll('&', '&amp;')
}

async function sendMail(
  ctx: Ctx,
  content: Content,
  { mailTo, signal }: { mailTo: MailTo; signal: AbortSignal },
): Promise<Attempt> {
  const { recipients, wasDelivered = false, onEnd = async () => {} } = mailTo
  const mail = notificationMail(ctx.baseUrl, content)
  const startedAt = Date.now()
  const started = performance.now()
  const outcome = await sendMails(ctx, mail, { recipients, signal, onEnd })
  const measured = { startedAt, durationMs: Math.round(performance.now() - started), isPrivate: false }
  const headers = { to: recipients.join(', '), subject: mail.subject }
  return {
    request: { url: 'mailto:', headers, body: Buffer.from(mail.text) },
    exchange: { ...measured, ...mailResult(outcome, wasDelivered) },
    secrets: [],
    isFinal: outcome.error === undefined && !outcome.replies.some(isTransient),
    refused: refusedIn(outcome).map(({ address }) => address),
  }
}

/** Delivered once some have got the mail and no other may get it later. */
function mailResult({ replies, error }: MailOutcome, wasDelivered: boolean) {
  const later = replies.filter(isTransient)
  const refused = refusedIn({ replies })
  const texts = [replies.findLast(isAccepted)?.text, describeRefused(refused), describeLater(later)]
  const text = texts.filter((line) => line !== undefined && line !== '').join('\n')
  if (error !== undefined || later.length > 0)
    return { error: [...texts.slice(1), error].filter((line) => line !== undefined && line !== '').join('; ') }
  const isDone = wasDelivered || refused.length < replies.length
  if (!isDone) return { error: text }
  return { response: { status: 250, headers: {}, body: Buffer.from(text), truncated: false } }
}

function refusedIn({ replies }: Pick<MailOutcome, 'replies'>) {
  return replies.filter((reply) => !isTransient(reply) && !isAccepted(reply))
}

export function isAccepted({ status }: Pick<MailReply, 'status'>) {
  return status < 400
}

function describeRefused(replies: readonly MailReply[]) {
  return replies.length === 0 ? '' : `the mail server refused these recipients: ${describe(replies)}`
}

function describeLater(replies: readonly MailReply[]) {
  return replies.length === 0
    ? ''
    : `the mail server accepts nothing for these recipients at the moment: ${describe(replies)}`
}

function describe(replies: readonly MailReply[]) {
  return replies.map(({ address, status }) => `${address} (${status})`).join(', ')
}

export function isDelivered({ response }: Exchange) {
  return response !== undefined && response.status >= 200 && response.status < 300
}
