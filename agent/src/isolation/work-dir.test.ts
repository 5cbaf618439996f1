import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { startAgent, startServer } from '../testing/agent-fixture.ts'
import { claimWorkDir } from './work-dir.ts'

async function startTimeOf(pid: number) {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8')
  return status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
}

async function directoryOf(pid: number) {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-work-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await writeFile(join(directory, 'agent.pid'), `${pid} ${await startTimeOf(pid)}\n`)
  return directory
}

test.runIf(process.platform === 'linux')('the directory of an exiting process is waited for', async () => {
  const former = spawn('sleep', ['0.3'])
  const directory = await directoryOf(former.pid ?? 0)

  using claim = await claimWorkDir(directory, new AbortController().signal)

  expect(claim).toBeDefined()
})

test.runIf(process.platform === 'linux')('a zombie process holds no claim', async () => {
  // The shell becomes a program that never waits for the child that it started before.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const former = Number(String(line))
  const directory = await directoryOf(former)
  process.kill(former, 'SIGKILL')

  using claim = await claimWorkDir(directory, new AbortController().signal)

  expect(claim).toBeDefined()
})

/** Only root can see other processes than those of the system. */
const canUnshare = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0
if (!canUnshare) console.warn('SKIPPED: only root can start an agent that does not see the processes of this one')

/** Prints when it starts to claim the directory and the result, and holds it until it exits. */
const CLAIMANT = `
import { claimWorkDir } from ${JSON.stringify(join(import.meta.dirname, 'work-dir.ts'))}
const claiming = claimWorkDir(process.argv[1], AbortSignal.timeout(1000))
console.log('waits')
const claim = await claiming
console.log(claim === undefined ? 'nothing' : 'claimed')
process.stdin.resume()`

test.runIf(process.platform === 'linux')(
  'one of several agents that wait for an exiting process gets the directory',
  async () => {
    const former = spawn('sleep', ['60'])
    const directory = await directoryOf(former.pid ?? 0)
    const claimants = Array.from({ length: 3 }, () => {
      const args = ['--input-type=module', '-e', CLAIMANT, directory]
      const claimant = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      onTestFinished(() => void claimant.kill())
      return createInterface(claimant.stdout)[Symbol.asyncIterator]()
    })
    const next = () => Promise.all(claimants.map(async (lines) => String((await lines.next()).value)))
    const before = await next()

    former.kill()
    const responses = await next()

    expect(before).toEqual(['waits', 'waits', 'waits'])
    expect(responses.toSorted()).toEqual(['claimed', 'nothing', 'nothing'])
    const [claim, socket, ...others] = (await readdir(directory)).toSorted((a, b) =>
      extname(a).localeCompare(extname(b)),
    )
    expect([claim, others]).toEqual(['agent.1.pid', []])
    expect(socket).toMatch(/\.sock$/)
  },
)

/** Starts a claimant that sees no process but its own, as in another container; resolves with what it prints after the wait. */
async function claimElsewhere(directory: string) {
  const node = [process.execPath, '--input-type=module', '-e', CLAIMANT, directory]
  const claimant = spawn('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', ...node], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const end = () => void claimant.kill('SIGKILL')
  onTestFinished(end)
  const lines = createInterface(claimant.stdout)[Symbol.asyncIterator]()
  await lines.next()
  const { value, done } = await lines.next()
  return { result: done === true ? 'refused' : value, end }
}

test.runIf(canUnshare)('an agent in another container gets the directory only after the end of this one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-work-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const claim = await claimWorkDir(directory, new AbortController().signal)
  const during = await claimElsewhere(directory)
  claim?.[Symbol.dispose]()

  const after = await claimElsewhere(directory)
  const refused = claimWorkDir(directory, new AbortController().signal, 0)
  await expect(refused).rejects.toThrow('is used by another agent, a process in another container: ')
  after.end()
  using again = await claimWorkDir(directory, new AbortController().signal)

  expect([during.result, after.result]).toEqual(['nothing', 'claimed'])
  expect(again).toBeDefined()
  const [socket = '', ...others] = (await readdir(directory)).filter((name) => name.endsWith('.sock'))
  expect(others).toEqual([])
  // An agent of another user must be able to notice the claim.
  expect((await stat(join(directory, socket))).mode & 0o666).toBe(0o666)
})

test.runIf(process.platform === 'linux')('the wait for a directory ends with the agent', async () => {
  const former = spawn('sleep', ['60'])
  onTestFinished(() => void former.kill())
  const directory = await directoryOf(former.pid ?? 0)
  const stop = new AbortController()

  const claiming = claimWorkDir(directory, stop.signal)
  stop.abort()

  expect(await claiming).toBeUndefined()
  expect(former.exitCode).toBeNull()
})

test.each([
  ['/dev/null', 'it is a file, not a directory'],
  ['/dev/null/work', 'a part of the path is a file'],
])('the unusable directory %s is reported with its setting', async (workDir, reason) => {
  const server = await startServer()

  const agent = await startAgent(server, { workDir })

  await expect(agent.ended).rejects.toThrow(`--work-dir ${workDir}: ${reason}`)
})

test.runIf(process.platform === 'linux')('the claim of another process is reported with its id', async () => {
  const other = spawn('sleep', ['60'])
  onTestFinished(() => void other.kill())
  const directory = await directoryOf(other.pid ?? 0)

  const claiming = claimWorkDir(directory, new AbortController().signal, 0)

  await expect(claiming).rejects.toThrow(`is used by another agent, process ${other.pid}: `)
})

test('a second agent in the same working directory is rejected', async () => {
  const server = await startServer()
  const { workDir } = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  const second = await startAgent(server, { workDir })

  await expect(second.ended).rejects.toThrow(
    `the working directory ${workDir} is used by another agent, process ${process.pid}: give this agent another --work-dir`,
  )
})
