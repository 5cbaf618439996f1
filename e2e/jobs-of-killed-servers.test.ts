import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../server/src/db/connect.ts'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'

const LINEAGE = '5e1a1f0e-1b1c-4f5e-8f0e-2f4a6d1c9b77'

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
  await using database = await findPostgres(server.dataDir)
  const client = await connectDatabase(database.url, 'e2e')
  const uploaded = await fetch(version.attributes['hosted-state-upload-url'], { method: 'PUT', body: raw })
  // The job takes seconds before it locks the workspace to save what it read, and the upload has released its lock.
  await client.query(`begin; select from workspaces where id = '${workspace.id}' for update`)
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'groundstate %'`
  await expect.poll(async () => (await client.query(waiting)).rowCount, { timeout: 60_000 }).toBeGreaterThan(0)
  const before = await server.api('GET', `/state-versions/${version.id}`)

  await server.stop('SIGKILL')
  await client.end()
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
