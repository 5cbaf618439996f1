import { expect, test } from 'vitest'
import {
  ONE_RESOURCE,
  applied,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
} from '../testing/agent-fixture.ts'
import type { ProtocolServer } from '../testing/protocol-server.ts'

const STORE = 'POST /api/v2/workspaces/ws-acme-net/state-versions'

async function startNewServer(): Promise<ProtocolServer> {
  const server = await startServer()
  server.api.answersEngines = true
  return server
}

describeWithTerraform('the engine of a job', () => {
  test('sends the server no requests but one to store its state', async () => {
    const server = await startNewServer()
    await startAgent(server)

    await applied(server, configuration(ONE_RESOURCE), { runId: 'run-a' })
    await applied(server, configuration(`${ONE_RESOURCE} output "more" { value = 1 }`), { runId: 'run-b' })

    expect(server.api.requests).toEqual([STORE, STORE])
    expect(server.api.states.map(({ serial, runId }) => ({ serial, runId }))).toEqual([
      { serial: 1, runId: 'run-a' },
      { serial: 2, runId: 'run-b' },
    ])
    expect(server.api.current()?.outputs).toMatchObject({ more: { value: 1 } })
    expect(JSON.parse(server.api.states.at(-1)?.json?.toString() ?? '')).toMatchObject({
      values: { outputs: { greeting: { value: 'hello' } } },
    })
  })

  test('keeps a rejected state in a file, and logs the detail of the server', async () => {
    const server = await startNewServer()
    await startAgent(server)
    const archive = configuration(ONE_RESOURCE)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    server.api.refuseState = 409

    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    const outcome = await apply.finished

    expect(outcome.status).toBe('errored')
    expect(apply.log()).toContain('The server rejected the state: refused by the test\n')
    expect(JSON.parse(apply.artifacts.get('errored-state')?.toString() ?? '')).toMatchObject({
      resources: [{ name: 'one' }],
    })
  })
})
