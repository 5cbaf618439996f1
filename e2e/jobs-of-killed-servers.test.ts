import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'

const LINEAGE = '5e1a1f0e-1b1c-4f5e-8f0e-2f4a6d1c9b77'
/** Reading the resources of this state takes a worker longer than that, in ms. */
const INTO_THE_JOB_MS = 150

let server: BootedServer
beforeAll(async () => {
  server = await bootServer()
})

const INSTANCES = 200_000

/** A state of some 60 MB. */
function largeState() {
  const attributes = { id: 'x'.repeat(200), tags: { one: 'a', two: ['b', 'c', 1, 2, 3] } }
  const instances = Array.from({ length: INSTANCES }, (_, index) => ({
    index_key: index,
    schema_version: 0,
    attributes,
  }))
  const provider = 'provider["terraform.io/builtin/terraform"]'
  const resources = [{ mode: 'managed', type: 'terraform_data', name: 'many', provider, instances }]
  return Buffer.from(
    JSON.stringify({ version: 4, terraform_version: '1.11.4', serial: 1, lineage: LINEAGE, outputs: {}, resources }),
  )
}

test('unfinished jobs of a killed server are completed by the next one', async () => {
  const { data: workspace } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name: 'large' } },
  })
  await server.api('POST', `/workspaces/${workspace.id}/actions/lock`, {})
  const raw = largeState()
  const { data: version } = await server.api('POST', `/workspaces/${workspace.id}/state-versions`, {
    data: {
      type: 'state-versions',
      attributes: { serial: 1, lineage: LINEAGE, md5: createHash('md5').update(raw).digest('hex') },
    },
  })
  const uploaded = await fetch(version.attributes['hosted-state-upload-url'], { method: 'PUT', body: raw })
  await pause(INTO_THE_JOB_MS)
  const before = await server.api('GET', `/state-versions/${version.id}`)

  await server.stop('SIGKILL')
  await server.restart()
  const restartedAt = Date.now()
  const after = await until(async () => {
    const { data } = await server.api('GET', `/state-versions/${version.id}`)
    return data.attributes['resources-processed'] ? data : undefined
  })

  expect(uploaded.status).toBe(200)
  expect(before.data.attributes['resources-processed']).toBe(false)
  expect(after.attributes.resources).toMatchObject([{ name: 'many', count: INSTANCES }])
  expect(Date.now() - restartedAt).toBeLessThan(60_000)
})
