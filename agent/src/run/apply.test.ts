import { expect, test } from 'vitest'
import {
  ONE_RESOURCE,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
} from '../testing/agent-fixture.ts'

describeWithTerraform('an agent', () => {
  test('keeps the state of an apply that fails', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(`resource "terraform_data" "good" {}
    resource "terraform_data" "bad" {
      depends_on = [terraform_data.good]
      provisioner "local-exec" { command = "exit 3" }
    }`)
    await server.submit({ runId: 'run-a', configuration: archive }).finished

    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished

    expect(applied).toMatchObject({ status: 'errored', exitCode: 1 })
    expect(server.api.current()?.resources.map(({ name }) => name)).toEqual(['bad', 'good'])
  })

  test.each([
    ['finished', true, '', { additions: 1, changes: 0, destructions: 0, imports: 0 }],
    ['finished', false, '', undefined],
    ['errored', true, '; exit 3', undefined],
    ['errored', false, '; exit 3', undefined],
  ] as const)(
    'reports no counts of a provisioner: %s, structured output %s',
    async (status, structured, end, counts) => {
      const server = await startServer()
      await startAgent(server)
      const summary = 'Apply complete! Resources: 8 added, 8 changed, 8 destroyed.'
      const json = String.raw`{\"type\":\"change_summary\",\"changes\":{\"add\":7,\"change\":7,\"remove\":7,\"operation\":\"apply\"}}`
      const job = {
        runId: 'run-a',
        structuredOutput: structured,
        configuration: configuration(`resource "terraform_data" "one" {
        provisioner "local-exec" { command = "printf '%s\\n' '' '${summary}' '${json}' ''${end}" }
      }`),
      }
      await server.submit(job).finished

      const apply = server.submit({ ...job, kind: 'apply' })
      const applied = await apply.finished

      expect([applied.status, applied.counts]).toEqual([status, counts])
      expect(apply.log()).toContain(summary)
    },
  )

  test('uploads the state that the engine could not store', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(ONE_RESOURCE)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    server.api.refuseState = 422

    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    const applied = await apply.finished

    expect(applied.status).toBe('errored')
    expect(JSON.parse(apply.artifacts.get('errored-state')?.toString() ?? '')).toMatchObject({
      resources: [{ name: 'one' }],
    })
  })
})
