import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { databaseUrl } from '../../../testing/database.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createReplica } from '../../../testing/replica.ts'
import { allSignals } from '../../../testing/signals.ts'
import { updateWorkspace } from '../../workspaces/workspaces/service.ts'
import { watch } from './testing/watch.ts'

const app = await createTestApp()
const url = await app.listen()
const replica = await createReplica(app)
const replicaUrl = await replica.fastify.listen({ host: '127.0.0.1', port: 0 })

/** Streams on two servers, and a third server that writes and is killed. */
async function killWriter(moment: 'statement' | 'commit') {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  await allSignals(app)
  const streams = await Promise.all(
    [url, replicaUrl].map(async (at) => watch(at, organization.name, { token: owner.token })),
  )
  const signs = () => streams.map(({ events }) => events.map(({ event }) => event))
  await expect.poll(signs).toEqual([['ready'], ['ready']])

  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const database = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const script = join(import.meta.dirname, 'testing/killed-writer.ts')
  const env = { ...process.env, GROUNDSTATE_DATA_DIR: app.config.dataDir, GROUNDSTATE_SECRET: '11'.repeat(32) }
  const writer = spawn(process.execPath, [script, database, workspace.id, moment], { env, stdio: 'inherit' })
  const [, signal] = await once(writer, 'exit')
  expect(signal).toBe('SIGKILL')
  return { workspace, signs, streams }
}

async function readDescription(id: string) {
  const row = await app.db.selectFrom('workspaces').select('description').where('id', '=', id).executeTakeFirst()
  return row?.description
}

test('a commit of a server killed before its notification resets the streams of all others', async () => {
  const { workspace, signs } = await killWriter('commit')

  await expect.poll(signs, { timeout: 10_000 }).toEqual([
    ['ready', 'reset'],
    ['ready', 'reset'],
  ])
  expect(await readDescription(workspace.id)).toBe('written')
})

test('a change of a server killed before its commit is lost, and later changes of others are notified', async () => {
  const { workspace, signs, streams } = await killWriter('statement')
  await expect.poll(signs, { timeout: 10_000 }).toEqual([
    ['ready', 'reset'],
    ['ready', 'reset'],
  ])

  const before = await readDescription(workspace.id)
  const input = { type: 'workspaces', attributes: { description: 'later' }, relationships: {} }
  await updateWorkspace(app.as(), { id: workspace.id }, { input })

  expect(before).toBeNull()
  await expect
    .poll(() => streams.map(({ changes }) => changes.map(({ id }) => id)))
    .toEqual([[workspace.id], [workspace.id]])
})
