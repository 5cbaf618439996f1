import type { SendMailOptions, Transporter } from 'nodemailer'
import { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import type { Config } from '../config.ts'
import { jobHandler } from '../handlers.ts'
import { jobKind } from '../jobs/jobs.ts'
import { sealedJobProperty } from '../secrets/sealed.ts'

const mailSchema = z.object({
  to: z.string(),
  subject: z.string(),
  /** Paragraphs, separated by blank lines. */
  text: z.string(),
  /** Shown as a button below the text, and as an address in the plain part. */
  link: z.object({ label: z.string(), url: z.string() }).optional(),
  /** Why the recipient gets it, and the page on which to choose otherwise; also for the button of mail programs. */
  settings: z.object({ text: z.string(), url: z.string() }).optional(),
})
export type Mail = z.infer<typeof mailSchema>

/** Retried for about nine hours: a mail server may be down for a while, and greylisting takes minutes. */
const sendMailJob = jobKind('mail.send', z.object({ sealed: z.base64() }), {
  retryLimit: 16,
  retryDelayMs: 15_000,
  retryDelayMaxMs: 3_600_000,
  timeLimitMs: 120_000,
})
export const sealedMail = sealedJobProperty(sendMailJob, 'sealed', () => 'mail.send')
const CONTEXT = sealedMail.context({})
const CONNECTION_TIMEOUT_MS = 30_000

export function sendsMail({ config }: Pick<App, 'config'>) {
  return config.smtpUrl !== undefined
}

/**
 * Sends a mail after the transaction of `ctx` commits. Without a configured mail server it does nothing and returns false. A job's data is
 * readable in the database and in logs, so it is encrypted: a mail may contain a secret link.
 */
export async function enqueueMail(ctx: Ctx, mail: Mail) {
  if (!sendsMail(ctx)) return false
  const sealed = ctx.secrets.seal(JSON.stringify(mail), CONTEXT).toString('base64')
  await ctx.jobs.enqueue(ctx.db, sendMailJob, { sealed })
  return true
}

export const mailJobs = [
  jobHandler(sendMailJob, async (ctx, { sealed }) => {
    const mail = mailSchema.parse(JSON.parse(ctx.secrets.openText(Buffer.from(sealed, 'base64'), CONTEXT)))
    await sendMail(ctx, mail)
  }),
]

async function sendMail({ config, baseUrl, log }: Ctx, mail: Mail) {
  if (config.smtpUrl === undefined || config.mailFrom === undefined) {
    log.warn({ subject: mail.subject }, 'a mail was dropped: no mail server is configured any more')
    return
  }
  try {
    await deliver(config.smtpUrl, messageOf(mail, { from: config.mailFrom, baseUrl }))
  } catch (error) {
    const rejection = rejectedRecipient(error)
    if (rejection === undefined) throw error
    log.warn({ subject: mail.subject, response: rejection }, 'the mail server rejected a recipient')
  }
}

/** Sends a mail at once and without retries, to test the settings. Returns why it failed. */
export async function trySendMail({ config, baseUrl }: Ctx, mail: Mail): Promise<string | undefined> {
  if (config.smtpUrl === undefined || config.mailFrom === undefined)
    return 'no mail server is configured: set GROUNDSTATE_SMTP_URL and GROUNDSTATE_MAIL_FROM'
  try {
    await deliver(config.smtpUrl, messageOf(mail, { from: config.mailFrom, baseUrl }))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The mail server's answer for one recipient. */
export type MailReply = { address: string; status: number; text: string }

/** The answers for each recipient. `error` says why the delivery ended before all had one; a retry may mend that. */
export type MailOutcome = { replies: MailReply[]; error?: string }

type Recipients = {
  recipients: readonly string[]
  signal: AbortSignal
  /** Called after the mail server has accepted the mail for an address, or refused it for good. */
  onEnd: (reply: MailReply) => Promise<void>
}

/** Sends a mail at once to each recipient on its own, on one connection. Never throws because of the mail server. */
export async function sendMails(
  { config, baseUrl }: Pick<Ctx, 'config' | 'baseUrl'>,
  mail: Omit<Mail, 'to'>,
  { recipients, signal, onEnd }: Recipients,
): Promise<MailOutcome> {
  const replies: MailReply[] = []
  if (config.smtpUrl === undefined || config.mailFrom === undefined)
    return { replies, error: 'no mail server is configured' }
  const transport = await createTransport(config.smtpUrl, { pool: true, maxConnections: 1 })
  try {
    for (const to of recipients) {
      const reply = await transport
        .sendMail({ ...messageOf({ ...mail, to }, { from: config.mailFrom, baseUrl }), signal })
        .then(replyOf, (error: unknown) => refusalOf(error) ?? failureOf(error))
      if (typeof reply === 'string')
        return { replies, error: signal.aborted ? 'the server was stopped before it had sent all e-mails' : reply }
      const answered = { address: to, ...reply }
      replies.push(answered)
      if (!isTransient(reply)) await onEnd(answered)
    }
    return { replies }
  } finally {
    transport.close()
  }
}

/** Whether the mail server may accept the mail later. */
export function isTransient({ status }: Pick<MailReply, 'status'>) {
  return status >= 400 && status < 500
}

/** A reply after which the mail server closes the connection. */
const CLOSING = 421

/** The reply of a mail server that refused a recipient or the mail to it; undefined for other errors, which concern all recipients. */
function refusalOf(error: unknown) {
  if (!(error instanceof Error)) return undefined
  const { command, responseCode, response } = error as { command?: unknown; responseCode?: unknown; response?: unknown }
  if ((command !== 'RCPT TO' && command !== 'DATA') || typeof responseCode !== 'number') return undefined
  if (responseCode < 400 || responseCode === CLOSING) return undefined
  return { status: responseCode, text: typeof response === 'string' ? response : error.message }
}

/** Errors of connections name the address of the mail server, which is the site's. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'ESOCKET',
  'ECONNECTION',
  'EDNS',
  'ETIMEDOUT',
  'ECONNREFUSED',
  'ECONNRESET',
])

function failureOf(error: unknown) {
  if (!(error instanceof Error)) return String(error)
  if ('command' in error && error.command === 'MAIL FROM') return `the mail server refused the sender: ${error.message}`
  if (!UNREACHABLE.has('code' in error ? error.code : undefined)) return error.message
  const code = /\bE[A-Z]{4,}\b/.exec(error.message)?.[0]
  return `the mail server cannot be reached${code === undefined ? '' : ` (${code})`}`
}

function replyOf(sent: unknown) {
  const text = typeof sent === 'object' && sent && 'response' in sent ? String(sent.response) : ''
  return { status: Number(/^\d{3}/.exec(text)?.[0] ?? 250), text }
}

async function deliver(url: NonNullable<Config['smtpUrl']>, message: SendMailOptions) {
  const transport = await createTransport(url)
  try {
    await transport.sendMail(message)
  } finally {
    transport.close()
  }
}

async function createTransport(
  url: NonNullable<Config['smtpUrl']>,
  options: { pool?: true; maxConnections?: number } = {},
): Promise<Transporter> {
  const { default: nodemailer } = await import('nodemailer')
  return nodemailer.createTransport({
    ...options,
    url: url.href,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    greetingTimeout: CONNECTION_TIMEOUT_MS,
    socketTimeout: CONNECTION_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** The code with which the mail server refused a recipient for good; a retry would be in vain. */
function rejectedRecipient(error: unknown) {
  const refusal = refusalOf(error)
  return refusal && !isTransient(refusal) ? refusal.status : undefined
}

function messageOf({ to, subject, text, link, settings }: Mail, { from, baseUrl }: { from: string; baseUrl: string }) {
  const footer = `Sent by Groundstate at ${baseUrl}`
  const paragraphs = text.split(/\n{2,}/)
  const choice = settings ? `\n${settings.text} ${settings.url}` : ''
  const plain = [...paragraphs, ...(link ? [`${link.label}:\n${link.url}`] : []), `-- \n${footer}${choice}`]
  return {
    from,
    to: { name: '', address: to },
    subject,
    text: `${plain.join('\n\n')}\n`,
    html: page([
      ...paragraphs.map((paragraph) => `<p style="margin:0 0 16px">${escaped(paragraph)}</p>`),
      ...(link ? [button(link)] : []),
      small(escaped(footer)),
      ...(settings
        ? [small(`${escaped(settings.text)} <a href="${escaped(settings.url)}">${escaped(settings.url)}</a>`)]
        : []),
    ]),
    headers: {
      'auto-submitted': 'auto-generated',
      ...(settings && { 'list-unsubscribe': `<${settings.url}>` }),
    },
  } satisfies SendMailOptions
}

function small(html: string) {
  return `<p style="margin:24px 0 0;color:#64748b;font-size:13px">${html}</p>`
}

function page(parts: readonly string[]) {
  const style = 'font:15px/1.5 system-ui,sans-serif;color:#0f172a;max-width:560px;margin:0 auto;padding:24px'
  return `<!doctype html><html lang="en"><body style="margin:0"><div style="${style}">${parts.join('')}</div></body></html>`
}

function button({ label, url }: NonNullable<Mail['link']>) {
  const style =
    'display:inline-block;padding:8px 16px;border-radius:6px;background:#1d4ed8;color:#fff;text-decoration:none'
  return `<p style="margin:0 0 16px"><a href="${escaped(url)}" style="${style}">${escaped(label)}</a></p>`
}

function escaped(text: string) {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
