import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  ONE_RESOURCE,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'

const PLAN = { runId: 'run-a', documentsMayFollow: true, configuration: configuration(ONE_RESOURCE) }
const APPLY = { configuration: Buffer.of() }

/** The real engine, with a record of when each command starts and ends. */
async function notingEngine() {
  const directory = await temporaryDirectory()
  const [path, notes] = [join(directory, 'terraform'), join(directory, 'notes')]
  const real = `PATH=${process.env['PATH'] ?? ''}; terraform "$@"; code=$?`
  const script = `#!/bin/sh\n[ "$1" = version ] || echo "$1" >> ${notes}\n${real}\n[ "$1" = version ] || echo "end of $1" >> ${notes}\nexit $code\n`
  await writeFile(notes, '', { mode: 0o666 })
  await writeFile(path, script, { mode: 0o755 })
  const read = async () => (await readFile(notes, 'utf8')).trim().split('\n')
  return { enginePath: path, read }
}

describeWithTerraform('an apply in the response to the result of its plan', () => {
  test('runs in the directory of the plan, in the same slot', async () => {
    const server = await startServer()
    await startAgent(server)
    const plan = server.submit(PLAN)
    const apply = server.submitNext(plan, APPLY)

    expect(await apply.finished).toMatchObject({ status: 'finished' })

    expect(apply.fetches()).toBe(0)
    expect((await plan.documents).problem).toBeUndefined()
    expect(server.api.current()?.resources.map(({ name }) => name)).toEqual(['one'])
  })

  test('reuses the responses for the engine of the plan', async () => {
    const server = await startServer()
    server.api.answersEngines = true
    let requests = 0
    server.refuse(({ verb }) => {
      if (verb === 'engine-answers') requests += 1
      return undefined
    })
    await startAgent(server)
    const plan = server.submit(PLAN)

    expect(await server.submitNext(plan, APPLY).finished).toMatchObject({ status: 'finished' })

    expect(requests).toBe(1)
    expect(server.api.current()?.resources.map(({ name }) => name)).toEqual(['one'])
  })

  test('runs before the documents of its plan are created if it is short', async () => {
    const server = await startServer()
    const { enginePath, read } = await notingEngine()
    await startAgent(server, { enginePath })
    const plan = server.submit(PLAN)
    const apply = server.submitNext(plan, APPLY)
    await Promise.all([apply.finished, plan.documents])

    const commands = (await read()).filter((line) => /apply|show/.test(line))

    expect(commands).toEqual(['apply', 'end of apply', 'show', 'end of show'])
  })

  test('keeps all schemas that the documents of its plan need, with any configuration of the same lock file', async () => {
    const server = await startServer()
    await startAgent(server)
    const outputs = server.submit({
      ...PLAN,
      runId: 'run-b',
      configuration: configuration('output "a" { value = "b" }'),
    })
    await outputs.documents
    const plan = server.submit(PLAN)
    await server.submitNext(plan, APPLY).finished

    const { problem } = await plan.documents

    expect(problem).toBeUndefined()
    const redacted = JSON.parse(plan.artifacts.get('plan-json-redacted')?.toString() ?? '')
    expect(Object.keys(redacted.provider_schemas)).toEqual(['terraform.io/builtin/terraform'])
  })

  test('does not delay the documents of its plan if it is long', async () => {
    const server = await startServer()
    const { enginePath, read } = await notingEngine()
    await startAgent(server, { enginePath })
    const go = join(await temporaryDirectory(), 'go')
    const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`
    const slow = configuration(
      `resource "terraform_data" "slow" {\n  provisioner "local-exec" {\n    command = "${wait}"\n  }\n}`,
    )
    const plan = server.submit({ ...PLAN, configuration: slow })
    const apply = server.submitNext(plan, APPLY)

    await plan.documents
    const commands = (await read()).filter((line) => /apply|show/.test(line))
    await writeFile(go, '')

    expect(commands).toEqual(['apply', 'show', 'end of show'])
    expect(await apply.finished).toMatchObject({ status: 'finished' })
  })

  test('does not begin without an acknowledgement, and leaves the directory to the next claim', async () => {
    const server = await startServer()
    await startAgent(server)
    const plan = server.submit(PLAN)
    const lost = server.submitNext(plan, APPLY)
    lost.loseLease()
    await plan.finished

    const claimed = server.submit({ ...APPLY, kind: 'apply', runId: plan.runId, planJobId: plan.id })

    expect(await claimed.finished).toMatchObject({ status: 'finished' })
    expect([lost.log(), lost.fetches(), claimed.fetches()]).toEqual(['', 0, 0])
  })

  test('is not requested by an agent for a single job', async () => {
    const server = await startServer()
    const { ended } = await startAgent(server, { single: true })
    const plan = server.submit(PLAN)
    const apply = server.submitNext(plan, APPLY)

    await plan.finished
    await ended

    expect(await Promise.race([apply.finished, delay(0, 'not begun')])).toBe('not begun')
  })
})
