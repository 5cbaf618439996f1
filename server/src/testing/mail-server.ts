import { SMTPServer } from 'smtp-server'
import { atEnd } from './cleanup.ts'

/** A mail as received; `text` is its plain part. */
type ReceivedMail = { from: string; to: string; subject: string; text: string; raw: string }

export type TestMailServer = {
  mails: ReceivedMail[]
  /** The mails to an address. */
  to: (address: string) => ReceivedMail[]
  /** The code with which to refuse a recipient, a sender, or the mail to a recipient; undefined to accept. */
  refuses: { recipient?: Refuse; sender?: Refuse; content?: Refuse }
}
type Refuse = (address: string) => number | undefined

function refusal(code: number | undefined) {
  return code === undefined ? null : Object.assign(new Error('refused'), { responseCode: code })
}

/** A real SMTP server. It rejects recipients at `nowhere.example`, and other credentials than those given. */
export async function startMailServer(
  port: number,
  credentials?: { user: string; pass: string },
): Promise<TestMailServer> {
  const mails: ReceivedMail[] = []
  const server: TestMailServer = { mails, refuses: {}, to: (address) => mails.filter((mail) => mail.to === address) }
  const smtp = new SMTPServer({
    authOptional: credentials === undefined,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _, done) => {
      const isKnown = username === credentials?.user && password === credentials?.pass
      done(isKnown ? null : new Error('invalid credentials'), { user: username })
    },
    onMailFrom: ({ address }, _, done) => done(refusal(server.refuses.sender?.(address))),
    onRcptTo: ({ address }, _, done) =>
      done(refusal(address.endsWith('@nowhere.example') ? 550 : server.refuses.recipient?.(address))),
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString()
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address).join(', ')
        const code = server.refuses.content?.(to)
        if (code === undefined) mails.push({ from, to, raw, ...read(raw) })
        done(refusal(code))
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(port, '127.0.0.1', resolve))
  atEnd(async () => new Promise<void>((resolve) => smtp.close(() => resolve())))
  return server
}

/** Decodes quoted-printable text. */
function read(raw: string) {
  const subject = /^Subject: (.*(?:\r\n .*)*)/m.exec(raw)?.[1]?.replaceAll('\r\n', '') ?? ''
  const part = /Content-Type: text\/plain[^]*?\r\n\r\n([^]*?)\r\n--/.exec(raw)?.[1] ?? ''
  const text = part
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return { subject, text }
}
