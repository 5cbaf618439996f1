import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readPostmaster } from '../server/src/postgres/postmaster.ts'
import { findProcesses, parentAndGroupOf, filterRunning } from '../server/src/testing/processes.ts'

const ROOT = join(import.meta.dirname, '..')

// The first start creates a database on a real disk.
vi.setConfig({ testTimeout: 60_000 })

/** A clone that is already prepared, and a data directory, at paths that a careless script would split. */
let clone: string
let dataDir: string
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), `groundstate start's "ü"-`))
  // The user that PostgreSQL runs as must be able to enter it.
  await chmod(directory, 0o711)
  clone = join(directory, 'the clone')
  dataDir = join(directory, 'the data')
  await mkdir(join(clone, 'scripts'), { recursive: true })
  await copyFile(join(ROOT, 'package.json'), join(clone, 'package.json'))
  await writeFile(join(clone, 'scripts/prepare.mjs'), '')
  await symlink(join(ROOT, 'server'), join(clone, 'server'))
})
afterAll(() => rm(join(clone, '..'), { recursive: true }))

/** `npm start` as the leader of a process group, as shells and supervisors start it. */
async function start() {
  const npm = spawn('npm', ['start', '--', '--port', '0', '--data-dir', dataDir], {
    cwd: clone,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    if (npm.exitCode === null && npm.signalCode === null) signalGroup('SIGKILL')
  })
  const signalGroup = (signal: NodeJS.Signals) => process.kill(-(npm.pid ?? Number.NaN), signal)
  const ended = once(npm, 'exit')
  const errors = output(npm.stderr)
  await output(npm.stdout).toHold('Groundstate is ready')
  const { pid: postmaster = Number.NaN } = (await readPostmaster(join(dataDir, 'postgres/cluster'))) ?? {}
  return { npm, ended, errors, postmaster, signalGroup, processes: await findProcesses(dataDir) }
}

function output(stream: NonNullable<ChildProcess['stdout']>) {
  let text = ''
  stream.on('data', (data: Buffer) => {
    text += data.toString()
  })
  return {
    text: () => text,
    async toHold(part: string) {
      while (!text.includes(part)) await once(stream, 'data')
    },
  }
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s to the whole group drains the server once, however often it comes, and then stops PostgreSQL',
  async (signal) => {
    const { ended, errors, postmaster, signalGroup, processes } = await start()
    // The server can't end before this process continues.
    onTestFinished(async () => {
      for (const pid of await filterRunning([postmaster])) process.kill(pid, 'SIGCONT')
    })
    process.kill(postmaster, 'SIGSTOP')

    signalGroup(signal)
    await errors.toHold('waiting for running jobs')
    signalGroup(signal)
    signalGroup(signal)
    process.kill(postmaster, 'SIGCONT')

    expect(await ended).toEqual([0, null])
    expect(errors.text().match(/waiting for running jobs/g)).toHaveLength(1)
    await expect.poll(() => filterRunning(processes)).toEqual([])
    await expect(access(join(dataDir, 'postgres/cluster/postmaster.pid'))).rejects.toThrow('ENOENT')
  },
)

test('SIGTERM to npm alone reaches the server', async () => {
  const { npm, ended, errors, processes } = await start()

  npm.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
  expect(errors.text().match(/waiting for running jobs/g)).toHaveLength(1)
  await expect.poll(() => filterRunning(processes)).toEqual([])
})

test('npm is the direct parent of the server, in the same process group', async () => {
  const { npm, ended, postmaster, signalGroup } = await start()

  const { parent: server } = await parentAndGroupOf(postmaster)

  expect(await parentAndGroupOf(server)).toEqual({ parent: npm.pid, group: npm.pid })
  signalGroup('SIGTERM')
  await ended
})

test('SIGKILL to the whole group leaves nothing behind', async () => {
  const { npm, ended, postmaster, signalGroup, processes } = await start()
  expect(processes).toEqual(expect.arrayContaining([npm.pid, postmaster]))

  signalGroup('SIGKILL')
  await ended

  await expect.poll(() => filterRunning(processes), { timeout: 10_000 }).toEqual([])
})
