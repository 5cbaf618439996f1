import { expect, test } from 'vitest'
import { configuration, describeWithTerraform, ONE_RESOURCE, startAgent, startServer } from './testing/agent-fixture.ts'

describeWithTerraform('a run', () => {
  test('is planned and applied, with human logs', async () => {
    const server = await startServer()
    const { logged } = await startAgent(server)

    const plan = server.submit({ runId: 'run-a', configuration: configuration(ONE_RESOURCE) })
    const planned = await plan.finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: configuration(ONE_RESOURCE) })
    const applied = await apply.finished

    console.log(plan.log(), planned, [...plan.artifacts.keys()], apply.log(), applied, logged)
    expect(applied.status).toBe('finished')
  })
})
