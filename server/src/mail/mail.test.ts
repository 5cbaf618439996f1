import { expect, test } from 'vitest'
import { transact } from '../db/db.ts'
import { type TestApp, createTestApp } from '../testing/app.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { freePort } from '../testing/ports.ts'
import { enqueueMail } from './mail.ts'

const FROM = { GROUNDSTATE_MAIL_FROM: 'Groundstate <groundstate@example.com>' }
const HOUR_MS = 3_600_000

const send = (app: TestApp, to: string, text = 'the text') =>
  transact(app.as(), (ctx) =>
    enqueueMail(ctx, { to, subject: 'a <subject>', text, link: { label: 'Open', url: 'https://example.com/#s3cret' } }),
  )

test('a mail is sent once the server can be reached, with its link and nothing readable in the database', async () => {
  const port = await freePort()
  const app = await createTestApp({ ...FROM, GROUNDSTATE_SMTP_URL: `smtp://bob:pass@127.0.0.1:${port}` })

  const isEnqueued = await send(app, 'ada@example.com', 'one & two\n\nthree')
  const jobs = await app.db.executeQuery<{ data: unknown }>({
    ...app.db.selectNoFrom([]).compile(),
    sql: "select data from pgboss.job where name = 'mail.send'",
  })
  await app.runJobs()
  const server = await startMailServer(port, { user: 'bob', pass: 'pass' })
  app.clock.advance(HOUR_MS)
  await app.runJobs()

  expect(isEnqueued).toBe(true)
  expect(jobs.rows).toHaveLength(1)
  expect(JSON.stringify(jobs.rows)).not.toMatch(/s3cret|ada@/)
  expect(server.mails).toHaveLength(1)
  expect(server.mails[0]).toMatchObject({
    from: 'groundstate@example.com',
    to: 'ada@example.com',
    subject: 'a <subject>',
    text: expect.stringContaining('one & two\r\n\r\nthree\r\n\r\nOpen:\r\nhttps://example.com/#s3cret'),
    raw: expect.stringContaining('one &#38; two'),
  })
})

test('a mail to a rejected recipient is dropped', async () => {
  const port = await freePort()
  const app = await createTestApp({ ...FROM, GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}` })
  const server = await startMailServer(port)

  await send(app, 'nobody@nowhere.example')
  await app.runJobs()
  app.clock.advance(24 * HOUR_MS)

  expect(await app.runJobs()).toBe(0)
  expect(server.mails).toEqual([])
})

test('without a mail server nothing is enqueued', async () => {
  const app = await createTestApp()

  expect(await send(app, 'ada@example.com')).toBe(false)
  expect(await app.runJobs()).toBe(0)
})
