import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Logged,
  ONE_RESOURCE,
  applied,
  configuration,
  describeWithTerraform,
  hooksDirectory,
  scripted,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'

describeWithTerraform('the directory of a plan', () => {
  const dropped = (logged: Logged[]) =>
    expect.poll(() => logged.some(({ message }) => message.includes('dropped')), { timeout: 10_000 }).toBe(true)
  const planned = (greeting: string) => configuration(ONE_RESOURCE.replace('hello', greeting))

  test('is not applied if the server did not receive the plan', async () => {
    const server = await startServer()
    const { logged, workDir } = await startAgent(server)
    const lost = server.submit({ runId: 'run-a', configuration: planned('lost') })
    lost.refuseOutcome()
    await dropped(logged)
    const elsewhere = await startServer()
    await startAgent(elsewhere)
    const accepted = elsewhere.submit({ configuration: planned('accepted') })
    await accepted.finished

    const { artifacts } = accepted
    const job = { planJobId: 'job-elsewhere', configuration: planned('accepted'), artifacts }
    await server.submit({ kind: 'apply', runId: 'run-a', ...job }).finished

    expect(server.api.current()?.outputs).toMatchObject({ greeting: { value: 'accepted' } })
    await expect.poll(() => readdir(join(workDir, 'runs')), { timeout: 5000 }).toEqual([])
  })

  test('is replaced by that of the next attempt', async () => {
    const server = await startServer()
    const { logged, workDir } = await startAgent(server)
    const lost = server.submit({ runId: 'run-a', configuration: planned('lost') })
    lost.refuseOutcome()
    await dropped(logged)

    await server.submit({ runId: 'run-a', configuration: planned('accepted') }).finished
    await expect.poll(() => server.claims()).toBe(1)

    await expect.poll(() => readdir(join(workDir, 'runs'))).toHaveLength(1)
  })

  test('is replaced by that of the next run of the workspace, even if it could still be applied', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)

    for (const runId of ['run-a', 'run-b']) await server.submit({ runId, configuration: planned(runId) }).finished

    const kept = async () => (await readdir(join(workDir, 'runs'))).map((name) => name.slice(0, 5))
    await expect.poll(kept).toEqual(['run-b'])
  })

  test('keeps no temporary files outside the working directory of the agent', async () => {
    const server = await startServer()
    const workDir = join(await temporaryDirectory(), 'w'.repeat(80))
    const hooks = await hooksDirectory({ 'post-plan': 'touch "$TMPDIR/left" && echo "tmp=$TMPDIR"' })
    await startAgent(server, { workDir, hooks })

    const plan = server.submit({ runId: 'run-a', configuration: planned('kept') })
    await plan.finished

    const tmp = /tmp=(\S+)/.exec(plan.log())?.[1] ?? ''
    expect(tmp.startsWith(workDir)).toBe(false)
    await expect.poll(() => readdir(tmp), { timeout: 5000 }).toEqual([])
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: planned('kept') })
    expect(await apply.finished).toMatchObject({ status: 'finished' })
    expect(apply.fetches()).toBe(0)
  })

  test('is not kept if the run cannot be applied', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)

    await server.submit({ configuration: configuration(ONE_RESOURCE), mayApply: false }).finished

    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  })

  test('is removed, the oldest first, when all need more than the limit; the apply then starts from the stored plan', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server, { planDirectoryLimit: 30_000_000 })
    const plan = async (runId: string, megabytes: number) => {
      const archive = configuration(ONE_RESOURCE, { large: randomBytes(megabytes * 500_000).toString('hex') })
      const run = { runId, workspaceId: `ws-acme-${runId}`, workspaceName: runId, configuration: archive }
      const job = server.submit(run)
      await job.finished
      return { ...run, kind: 'apply' as const, artifacts: job.artifacts }
    }
    const kept = async () => (await readdir(join(workDir, 'runs'))).map((name) => name.slice(0, 5)).toSorted()
    const oldest = await plan('run-a', 12)
    await plan('run-b', 12)
    await plan('run-c', 12)
    await expect.poll(kept).toEqual(['run-b', 'run-c'])
    await plan('run-d', 31)
    await expect.poll(kept).toEqual(['run-b', 'run-c'])

    const apply = server.submit(oldest)

    expect(await apply.finished).toMatchObject({ status: 'finished' })
    expect(apply.fetches()).toBe(1)
  })
})

describeWithTerraform('an agent', () => {
  test('removes directories with paths that are too long for the system', async () => {
    const server = await startServer()
    const { workDir, stop, ended, logged } = await startAgent(server)
    const name = 'd'.repeat(200)
    const deep = `for i in $(seq 30); do mkdir ${name} && cd -P ./${name} || exit; done; touch last`

    await applied(server, scripted(deep))

    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
    stop()
    await ended
  })

  test('leaves no directory, and no secret on disk, when a run has ended', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const archive = configuration(`${ONE_RESOURCE}\nvariable "v" { sensitive = true }`)
    const secret = {
      key: 'v',
      value: 'topsecret',
      hcl: false,
      category: 'terraform',
      sensitive: true,
      level: 'override',
    } as const
    await server.submit({ runId: 'run-a', configuration: archive, variables: [secret] }).finished
    const kept = await filesBelow(join(workDir, 'runs'))
    const texts = await Promise.all(kept.map((path) => readFile(path, 'utf8')))

    await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished

    expect(texts.filter((text) => /(job|engine)-token/.test(text))).toEqual([])
    expect(kept.filter((path) => path.includes('tfvars'))).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  })
})

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
