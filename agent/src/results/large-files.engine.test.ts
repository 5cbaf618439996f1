import { spawnSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentJob } from '@groundstate/contract/agent'
import { expect, onTestFinished, test } from 'vitest'
import { configuration, startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'
import { createJob } from '../testing/protocol-job.ts'
import { createJournal, saveErroredState } from './journal.ts'

/** An engine whose plan and apply execute shell scripts. */
async function engineWith({ plan = '', apply = '' }) {
  const path = join(await temporaryDirectory(), 'terraform')
  const script = `#!/bin/sh
case $1 in
  version) printf 'Terraform v9.9.9\\non linux_amd64\\n' ;;
  plan) ${plan} ;;
  apply) ${apply} ;;
esac
`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

const coldApply = () => ({
  kind: 'apply' as const,
  configuration: configuration(''),
  artifacts: new Map([['plan-file' as const, Buffer.from('plan')]]),
})

const TOO_LARGE = 'errored.tfstate is not kept: it has 1258291200 bytes, and a state has at most 536870912'

test('a file larger than a state is not copied, and log and outcome say so', async () => {
  const server = await startServer()
  const enginePath = await engineWith({ apply: 'truncate -s 1200M errored.tfstate; exit 1' })
  const { workDir } = await startAgent(server, { enginePath })

  const apply = server.submit(coldApply())
  const outcome = await apply.finished

  expect(outcome).toMatchObject({ status: 'errored', exitCode: 1, message: expect.stringContaining(TOO_LARGE) })
  expect(apply.log()).toContain(TOO_LARGE)
  expect([...apply.artifacts.keys()]).toEqual(['plan-file'])
  await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
})

test('an apply that stored its state does not fail for a file in the place of the errored state', async () => {
  const server = await startServer()
  await startAgent(server, { enginePath: await engineWith({ apply: 'truncate -s 1200M errored.tfstate' }) })

  const outcome = await server.submit(coldApply()).finished

  expect(outcome).toMatchObject({ status: 'finished', exitCode: 0, message: expect.stringContaining(TOO_LARGE) })
})

test('a sparse state stays sparse where the agent keeps it', async () => {
  const server = await startServer()
  server.refuse(({ kind }) => (kind === 'errored-state' ? 413 : undefined))
  const enginePath = await engineWith({ apply: 'echo kept > errored.tfstate; truncate -s 64M errored.tfstate; exit 1' })
  const { workDir } = await startAgent(server, { enginePath })

  const { runId, finished } = server.submit(coldApply())
  await finished

  const kept = join(workDir, 'errored-states', `${runId}.tfstate`)
  const { size, blocks } = await stat(kept)
  expect(size).toBe(64 * 1024 ** 2)
  expect(blocks * 512).toBeLessThan(4 * 1024 ** 2)
  expect((await readFile(kept)).subarray(0, 5).toString()).toBe('kept\n')
})

test('a state is copied as it is when the copy begins', async () => {
  const root = await temporaryDirectory()
  const { job } = createJob(coldApply(), { sequence: 1, planJobId: undefined })
  const journal = await createJournal(await temporaryDirectory(), agentJob.parse(job))
  const path = join(root, 'errored.tfstate')
  await writeFile(path, 'state')

  const saving = saveErroredState(journal, { root, user: undefined }, root)
  appendFileSync(path, ' and more')
  await saving

  expect(await readFile(journal.erroredState, 'utf8')).toBe('state')
})

test.skipIf(process.getuid?.() !== 0)('a state is sent although the disk is full', async () => {
  const workDir = await temporaryDirectory()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6M', 'none', workDir])
  expect(String(mounted.stderr)).toBe('')
  onTestFinished(() => void spawnSync('umount', ['--lazy', workDir]))
  const server = await startServer()
  const fill = `head -c 4000000 /dev/zero | tr '\\0' x > errored.tfstate; cat /dev/zero > filler; exit 1`
  await startAgent(server, { workDir, enginePath: await engineWith({ apply: fill }) })

  const apply = server.submit(coldApply())

  expect(await apply.finished).toMatchObject({ status: 'errored', exitCode: 1 })
  expect(apply.artifacts.get('errored-state')?.length).toBe(4_000_000)
  await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
})

test.skipIf(process.platform !== 'linux')('a rejected state may be kept on another file system', async () => {
  const server = await startServer()
  server.refuse(({ kind }) => (kind === 'errored-state' ? 413 : undefined))
  const workDir = await temporaryDirectory()
  const elsewhere = await mkdtemp('/dev/shm/groundstate-')
  onTestFinished(async () => rm(elsewhere, { recursive: true }))
  await symlink(elsewhere, join(workDir, 'errored-states'))
  const enginePath = await engineWith({ apply: 'echo kept > errored.tfstate; exit 1' })
  await startAgent(server, { workDir, enginePath })

  const apply = server.submit(coldApply())

  const kept = `${apply.runId}.tfstate`
  expect(await apply.finished).toMatchObject({ message: expect.stringContaining(join('errored-states', kept)) })
  expect(await readdir(elsewhere)).toEqual([kept])
  expect(await readFile(join(elsewhere, kept), 'utf8')).toBe('kept\n')
})

test('a state that cannot be kept elsewhere stays in the journal', async () => {
  const server = await startServer()
  server.refuse(({ kind }) => (kind === 'errored-state' ? 413 : undefined))
  const workDir = await temporaryDirectory()
  await writeFile(join(workDir, 'errored-states'), 'a file')
  const enginePath = await engineWith({ apply: 'echo kept > errored.tfstate; exit 1' })
  const { logged, stop, ended } = await startAgent(server, { workDir, enginePath })

  server.submit(coldApply())
  await expect.poll(() => logged.some(({ message }) => message.includes('it stays here'))).toBe(true)
  stop()
  await ended

  const [name = ''] = await readdir(join(workDir, 'jobs'))
  expect(await readFile(join(workDir, 'jobs', name, 'errored.tfstate'), 'utf8')).toBe('kept\n')
})

test('a plan file that is too large is not uploaded, and the outcome says so', async () => {
  const server = await startServer()
  const plan = 'for arg; do case $arg in -out=*) truncate -s 1100M ${arg#-out=};; esac; done; exit 2'
  await startAgent(server, { enginePath: await engineWith({ plan }) })

  const job = server.submit({ configuration: configuration('output "a" { value = 1 }'), documentsMayFollow: true })

  expect(await job.finished).toMatchObject({
    status: 'errored',
    message: 'the plan file has 1153433600 bytes, more than the maximum of 1073741824',
  })
  expect([...job.artifacts.keys()]).toEqual([])
})
