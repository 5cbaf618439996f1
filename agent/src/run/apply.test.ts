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
