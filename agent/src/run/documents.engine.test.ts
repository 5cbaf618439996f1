import { chmod, mkdir, readdir, truncate, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  ONE_RESOURCE,
  WAITING,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { kill, spawnAgent } from '../testing/agent-process.ts'

const ITSELF = { runId: 'run-a', documentsMayFollow: true }
const DOCUMENTS = ['plan-json', 'plan-json-redacted']

/** The real engine, whose `show` waits for a file. */
async function engineWithSlowShow() {
  const directory = await temporaryDirectory()
  // Otherwise no run could have a dedicated user.
  await chmod(directory, 0o755)
  const [path, go] = [join(directory, 'terraform'), join(directory, 'go')]
  const real = `PATH=${process.env['PATH'] ?? ''}; exec terraform "$@"`
  const wait = `[ "$1" = show ] && while [ ! -e '${go}' ]; do sleep 0.05; done`
  await writeFile(path, `#!/bin/sh\n${wait}\n${real}\n`, { mode: 0o755 })
  return { enginePath: path, goOn: () => writeFile(go, '') }
}

describeWithTerraform('a plan', () => {
  test('leaves at most 1 GiB of schemas, the newest, and none of a killed command', async () => {
    const server = await startServer()
    const workDir = await temporaryDirectory()
    const schemas = join(workDir, 'schemas')
    await mkdir(schemas)
    for (const [name, day] of [
      ['a.json', 2],
      ['b.json', 3],
      ['c.json', 1],
      ['d.json.draft', 4],
    ] as const) {
      await writeFile(join(schemas, name), '')
      await truncate(join(schemas, name), 600 * 1024 ** 2)
      await utimes(join(schemas, name), day, day)
    }
    await startAgent(server, { workDir })

    await server.submit({ configuration: configuration(ONE_RESOURCE) }).finished

    await expect.poll(async () => (await readdir(schemas)).filter((name) => name.length < 20)).toEqual(['b.json'])
    expect(await readdir(schemas)).toHaveLength(2)
  })

  test('has its documents although cached schemas are truncated', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const archive = configuration(ONE_RESOURCE)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    const schemas = join(workDir, 'schemas')
    const names = await readdir(schemas)
    for (const name of names) await truncate(join(schemas, name), 100)

    const plan = server.submit({ runId: 'run-b', configuration: archive })

    expect(names).not.toEqual([])
    expect(await plan.finished).toMatchObject({ status: 'finished' })
    const redacted = JSON.parse(plan.artifacts.get('plan-json-redacted')?.toString() ?? '')
    expect(Object.keys(redacted.provider_schemas)).toEqual(['terraform.io/builtin/terraform'])
    expect(await server.submit({ runId: 'run-c', configuration: archive }).finished).toMatchObject({
      status: 'finished',
    })
  })
})

describeWithTerraform('a plan of a run with auto-apply', () => {
  test.for([false, true])(
    'is reported before its documents, with the counts of structured output: %s',
    async (structuredOutput) => {
      const server = await startServer()
      const { enginePath, goOn } = await engineWithSlowShow()
      await startAgent(server, { enginePath })
      const archive = configuration(ONE_RESOURCE)

      const plan = server.submit({ ...ITSELF, structuredOutput, configuration: archive })
      const planned = await plan.finished
      const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() }).finished
      const early = [...plan.artifacts.keys()]
      await goOn()
      const documents = await plan.documents

      const counts = { additions: 1, changes: 0, destructions: 0, imports: 0 }
      expect(planned).toMatchObject({ status: 'finished', exitCode: 0, hasChanges: true, owesDocuments: true })
      expect(planned.counts).toEqual(structuredOutput ? counts : undefined)
      expect([applied.status, early]).toEqual(['finished', ['plan-file']])
      expect(documents.counts).toEqual(counts)
      expect([...plan.artifacts.keys()].toSorted()).toEqual(['plan-file', ...DOCUMENTS])
    },
  )

  test('keeps the directory of the run until its documents are created', async () => {
    const server = await startServer()
    const { enginePath, goOn } = await engineWithSlowShow()
    const { workDir } = await startAgent(server, { enginePath })
    const plan = server.submit({ ...ITSELF, configuration: configuration(ONE_RESOURCE) })
    await plan.finished
    await server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() }).finished

    const during = [await readdir(join(workDir, 'runs')), await readdir(join(workDir, 'jobs'))]
    await goOn()
    await plan.documents

    expect(during.map(({ length }) => length > 0)).toEqual([true, true])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
  })

  test.for([
    ['changes nothing', 'locals { a = 1 }'],
    ['fails', 'output "a" { value = file("missing") }'],
  ] as const)('that %s has no pending documents', async ([, main]) => {
    const server = await startServer()
    await startAgent(server)

    const planned = await server.submit({ ...ITSELF, configuration: configuration(main) }).finished

    expect(planned.owesDocuments).toBeUndefined()
    expect(planned.hasChanges ?? false).toBe(false)
  })

  test('that changes only outputs has zero counts', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ ...ITSELF, configuration: configuration('output "a" { value = "b" }') })

    const counts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
    expect(await plan.finished).toMatchObject({ hasChanges: true, owesDocuments: true })
    expect((await plan.documents).counts).toEqual(counts)
  })

  test('whose documents cannot be created reports that, and is applied', async () => {
    const server = await startServer()
    const path = join(await temporaryDirectory(), 'terraform')
    const real = `PATH=${process.env['PATH'] ?? ''}; exec terraform "$@"`
    await writeFile(path, `#!/bin/sh\n[ "$1" = show ] && { echo no plan >&2; exit 1; }\n${real}\n`, { mode: 0o755 })
    await startAgent(server, { enginePath: path })

    const plan = server.submit({ ...ITSELF, configuration: configuration(ONE_RESOURCE) })
    const documents = await plan.documents
    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() }).finished

    expect(documents).toEqual({ files: [], problem: expect.stringContaining('no plan') })
    expect(applied.status).toBe('finished')
  })

  test('has its documents created by a draining agent', async () => {
    const server = await startServer()
    const { enginePath, goOn } = await engineWithSlowShow()
    const { workDir, stop, ended } = await startAgent(server, { enginePath })
    const plan = server.submit({ ...ITSELF, configuration: configuration(ONE_RESOURCE) })
    await plan.finished

    stop()
    await expect.poll(() => server.deregistered.length).toBe(1)
    await goOn()
    await ended

    expect([...plan.artifacts.keys()].toSorted()).toEqual(['plan-file', ...DOCUMENTS])
    expect(await readdir(join(workDir, 'jobs'))).toEqual([])
  })

  test('whose agent is killed before its documents are created has them created by the next one, and the apply reuses its directory', async () => {
    const server = await startServer()
    const { enginePath, goOn } = await engineWithSlowShow()
    const workDir = await temporaryDirectory()
    const agent = spawnAgent(server, workDir, { GROUNDSTATE_ENGINE_PATH: enginePath })
    const plan = server.submit({ ...ITSELF, configuration: configuration(ONE_RESOURCE) })
    await plan.finished
    await kill(agent)
    // Otherwise its last claim would get the apply.
    await expect.poll(() => server.claims()).toBe(0)

    spawnAgent(server, workDir, { GROUNDSTATE_ENGINE_PATH: enginePath })
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() })
    const applied = await apply.finished
    await goOn()
    const documents = await plan.documents

    expect(documents.counts).toEqual({ additions: 1, changes: 0, destructions: 0, imports: 0 })
    expect([...plan.artifacts.keys()].toSorted()).toEqual(['plan-file', ...DOCUMENTS])
    expect([applied.status, apply.fetches()]).toEqual(['finished', 0])
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  }, 60_000)

  test('whose agent is killed during its apply gets a report of the next one that there are no documents', async () => {
    const server = await startServer()
    const { enginePath } = await engineWithSlowShow()
    const workDir = await temporaryDirectory()
    const agent = spawnAgent(server, workDir, { GROUNDSTATE_ENGINE_PATH: enginePath })
    const plan = server.submit({ ...ITSELF, configuration: WAITING })
    await plan.finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() })
    await apply.logged(/pid=\d/)
    await kill(agent)

    spawnAgent(server, workDir, { GROUNDSTATE_ENGINE_PATH: enginePath })
    const [documents, applied] = await Promise.all([plan.documents, apply.finished])

    expect(documents).toEqual({ files: [], problem: expect.stringContaining('was killed') })
    expect(applied).toMatchObject({ status: 'errored', message: expect.stringContaining('was interrupted') })
    await expect.poll(() => readdir(join(workDir, 'jobs'))).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  }, 60_000)

  test('whose agent restarts without its engine gets a report why there are no documents', async () => {
    const server = await startServer()
    const { enginePath } = await engineWithSlowShow()
    const workDir = await temporaryDirectory()
    const agent = spawnAgent(server, workDir, { GROUNDSTATE_ENGINE_PATH: enginePath })
    const plan = server.submit({ ...ITSELF, configuration: configuration(ONE_RESOURCE) })
    await plan.finished
    await kill(agent)

    spawnAgent(server, workDir, { PATH: dirname(process.execPath) })
    const documents = await plan.documents

    expect(documents).toEqual({ files: [], problem: expect.stringContaining('this agent has no Terraform') })
  }, 60_000)
})

describeWithTerraform('a server that expects files in separate requests', () => {
  test('gets the outcome after the log and the files', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ takesResults: false, configuration: configuration(ONE_RESOURCE) })
    const planned = await plan.finished

    expect(planned).toMatchObject({ status: 'finished', counts: { additions: 1 } })
    expect([...plan.artifacts.keys()].toSorted()).toEqual(['plan-file', ...DOCUMENTS])
    expect(plan.log()).toContain('1 to add')
  })
})
