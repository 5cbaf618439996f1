import { expect, test } from 'vitest'
import { testOpa } from '../agent/src/testing/opa.ts'
import { archiveOf } from '../server/src/testing/archives.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until, untilRunIs } from './run-progress.ts'
import { bootServer } from './server.ts'

const RUNS = 8

const POLICIES = archiveOf({
  'policies.hcl': 'policy "outputs" {\n  query = "data.outputs.deny"\n  enforcement_level = "mandatory"\n}\n',
  'outputs.rego': 'package outputs\n\nimport rego.v1\n\ndeny contains input.run.message if true\n',
})

test('a trial whose server and agent are killed is completed by the next ones', async () => {
  const server = await bootServer({ GROUNDSTATE_OPA_PATH: testOpa().path })
  const workspace = await remoteWorkspace(server, { name: 'web', configuration: 'output "a" { value = 1 }\n' })
  const names = Array.from({ length: RUNS }, (_, index) => `run ${index}`)
  const runs: string[] = []
  for (const message of names) runs.push(await startRun(server, workspace, { message, 'plan-only': true }))
  for (const run of runs) await untilRunIs(server, async () => readRun(server, run), 'planned_and_finished')
  const { data: created } = await server.api('POST', '/organizations/main/policy-trials', {
    data: { type: 'policy-trials', relationships: { runs: { data: runs.map((id) => ({ type: 'runs', id })) } } },
  })
  const trial = async () => (await server.api('GET', `/policy-trials/${created.id}`)).data

  const uploaded = await fetch(created.links.upload, { method: 'PUT', body: new Uint8Array(POLICIES) })
  const killed = await until(async () => {
    const now = await trial()
    return now.attributes['run-counts'].evaluated > 0 && now
  })
  await server.stop('SIGKILL')
  await server.restart()
  const finished = await until(async () => {
    const now = await trial()
    return now.attributes.status !== 'running' && now
  })

  expect(uploaded.status).toBe(200)
  expect(killed.attributes.status).toBe('running')
  expect(finished.attributes).toMatchObject({ status: 'finished', 'run-counts': { total: RUNS, stopped: RUNS } })
  const { data: results } = await server.api('GET', `/policy-trials/${created.id}/runs`)
  const texts = results.map(({ attributes }: any) => attributes.outcomes[0].output[0].print)
  expect(texts).toEqual(names)
})
