import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Logged,
  ONE_RESOURCE,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
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

    expect(await readdir(join(workDir, 'runs'))).toHaveLength(1)
  })
})

describeWithTerraform('an agent', () => {
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
