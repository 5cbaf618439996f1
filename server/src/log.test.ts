import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLog, loggedError } from './log.ts'

async function makeDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-log-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

function openFile(directory: string) {
  const fd = openSync(join(directory, 'log'), 'w')
  onTestFinished(() => closeSync(fd))
  return { fd, read: () => readFileSync(join(directory, 'log'), 'utf8') }
}

test('on a terminal a line is human-readable', async () => {
  const { fd, read } = openFile(await makeDirectory())
  const log = createLog(fd, { level: 'warn', readable: true })

  log.warn({ version: 'sv-1', count: 2, reason: 'two words' }, 'stored state is damaged')
  log.error({ err: new Error('no such\nthing \x1b[31m') }, 'job failed')
  log.info('ready')
  log.warn('alone')

  expect(read().split('\n')).toEqual([
    'groundstate: warn: stored state is damaged (version=sv-1 count=2 reason="two words")',
    'groundstate: error: job failed (err="no such\\nthing \\u001b[31m")',
    'groundstate: warn: alone',
    '',
  ])
})

test('elsewhere it is JSON', async () => {
  const { fd, read } = openFile(await makeDirectory())
  const log = createLog(fd, { level: 'info', readable: false })

  log.info({ port: 1 }, 'ready')

  expect(JSON.parse(read())).toMatchObject({ level: 'info', port: 1, message: 'ready' })
})

test.runIf(process.platform === 'linux')(
  'a full disk needs little memory, and the log continues once there is space',
  async () => {
    const directory = await makeDirectory()
    const full = openSync('/dev/full', 'w')
    const log = createLog(full, { level: 'info', readable: false })
    const filler = 'x'.repeat(4096)
    for (let line = 0; line < 1000; line++) log.info({ filler }, 'kept or dropped')

    // The next file that is opened gets the lowest free number, which is this one.
    closeSync(full)
    const { fd, read } = openFile(directory)
    log.info('dropped, but tried')
    log.info('room again')

    expect(fd).toBe(full)
    expect(read().length).toBeGreaterThan(900 * 1024)
    expect(read().length).toBeLessThan(1100 * 1024)
    expect(JSON.parse(read().trim().split('\n').at(-1) ?? '')).toMatchObject({ message: 'room again' })
  },
)

test('an error shows neither certificates nor advice on starting Node.js', async () => {
  const { fd, read } = openFile(await makeDirectory())
  const log = createLog(fd, { level: 'warn', readable: false })
  const advice = '; if the root CA is installed locally, try running Node.js with --use-system-ca'
  const cause = Object.assign(new Error(`unable to verify the first certificate${advice}`), {
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    cert: { raw: Buffer.from('chain'), subject: { CN: 'db' } },
  })

  log.warn({ err: cause }, 'not ready')
  log.warn({ err: new Error('not ready', { cause }) }, 'not ready')
  log.warn({ err: Object.assign(new Error('not ready'), { first: cause }) }, 'not ready')
  log.warn({ err: loggedError(cause) }, 'not ready')

  const lines = read().trimEnd().split('\n')
  expect(JSON.parse(lines[0] ?? '').err).toEqual({
    type: 'Error',
    message: 'unable to verify the first certificate',
    stack: expect.stringContaining('log.test.ts'),
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
  expect(lines.filter((line) => /"cert"|Node\.js/.test(line))).toEqual([])
  expect(lines.every((line) => line.includes('unable to verify the first certificate'))).toBe(true)
})

test('the reason of an outage is logged once in some seconds, and its stack once', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { fd, read } = openFile(await makeDirectory())
  const log = createLog(fd, { level: 'warn', readable: false })
  const error = Object.assign(new Error('connect ENOENT /data/.s.PGSQL.5432'), { code: 'ENOENT' })

  log.error({ err: error }, 'claiming from the job queue')
  log.warn({ err: loggedError(error) }, 'unavailable')
  log.error({ err: new Error('a bug') }, 'bug')
  log.error({ err: new Error('a bug') }, 'bug')
  vi.advanceTimersByTime(6000)
  log.warn({ err: error }, 'unavailable')

  const lines = read()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ message }) => message)).toEqual(['claiming from the job queue', 'bug', 'bug', 'unavailable'])
  expect(lines[0].err.stack).toContain('log.test.ts')
  expect(lines[3]).toMatchObject({ err: { code: 'ENOENT', message: error.message }, repeated: 1 })
  expect(lines[3].err.stack).toBeUndefined()
})
