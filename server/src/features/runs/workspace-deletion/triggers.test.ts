import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/db.ts'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { addWorkspace, type RunSetting } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { applyRun, connect, endJobs, fire, listTriggered } from '../run-triggers/testing/triggers.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const user = await createUser(app)
const { name: organization } = await createOrganization(app, user)
const add = async () => addWorkspace(app, { user, organization })

let network: RunSetting
let dns: RunSetting
let web: RunSetting
beforeEach(async () => {
  network = await add()
  dns = await add()
  web = await add()
})

afterEach(async () => {
  await fire(app)
  await endJobs(agent)
})

const deleteSource = async () =>
  app.request({ method: 'DELETE', url: `/api/v2/workspaces/${network.workspaceId}`, token: user.token })

test('the run starts when the source is deleted', async () => {
  await connect(app, network, web)
  await connect(app, network, dns)
  const cause = await applyRun(app, agent, network)

  expect((await deleteSource()).status).toBe(204)

  for (const destination of [web, dns]) {
    const messages = (await listTriggered(app, destination)).map(({ attributes }) => attributes.message)
    expect(messages).toEqual([`Triggered by ${cause} in ${network.workspaceName}`])
  }
  await fire(app)
  expect(await listTriggered(app, web)).toHaveLength(1)
})

test('it is deleted even if no run can start', async () => {
  const { id: workspaceId } = await createWorkspace(app, { organization, actor: user.actor })
  await connect(app, network, { user, workspaceId })
  await applyRun(app, agent, network)

  expect((await deleteSource()).status).toBe(204)

  expect(await listTriggered(app, { user, workspaceId })).toEqual([])
})

test('workspaces that trigger each other are deleted together', async () => {
  await connect(app, network, web)
  await connect(app, web, network)
  await applyRun(app, agent, network)
  await applyRun(app, agent, web)

  const responses = await Promise.all(
    [network, web].map(async ({ workspaceId }) =>
      app.request({ method: 'DELETE', url: `/api/v2/workspaces/${workspaceId}`, token: user.token }),
    ),
  )

  expect(responses.map(({ status }) => status)).toEqual([204, 204])
})

test('a refused deletion starts no run', async () => {
  await connect(app, network, web)
  await applyRun(app, agent, network)
  const client = stateClient(app, { id: network.workspaceId, name: network.workspaceName }, user.token)
  await client.lock()
  await client.create(rawState({ resources: ['a'] }))
  await client.unlock()

  const url = `/api/v2/workspaces/${network.workspaceId}/actions/safe-delete`
  const refused = await app.request({ method: 'POST', url, token: user.token })

  expect(refused.status).toBe(409)
  expect(await listTriggered(app, web)).toEqual([])
})

test('a trigger that fires during the deletion starts its run before the source is locked', async () => {
  const trigger = await connect(app, network, web)
  await applyRun(app, agent, network)

  const deletion = await app.db.transaction().execute(async (holder) => {
    const sent = await app.db.transaction().execute(async (first) => {
      await lockRow(first, web)
      const sent = deleteSource()
      await untilWaiting()
      await app.request({ method: 'DELETE', url: `/api/v2/run-triggers/${trigger}`, token: user.token })
      await connect(app, network, dns)
      await applyRun(app, agent, network)
      await lockRow(holder, dns)
      return { sent }
    })
    await expect.poll(async () => listTriggered(app, web)).toHaveLength(1)
    await untilWaiting()
    await lockRow(holder, network)
    return sent
  })

  expect((await deletion.sent).status).toBe(204)
  expect(await listTriggered(app, dns)).toHaveLength(1)
})

test('a trigger that fails to fire does not prevent the deletion, and is recorded', async () => {
  await connect(app, network, web)
  await connect(app, network, dns)
  await applyRun(app, agent, network)
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`.execute(
    app.db,
  )
  await sql`create trigger refuse before insert on runs for each row
      when (new.workspace_id = ${sql.lit(web.workspaceId)}) execute function refuse()`.execute(app.db)

  const deleted = await deleteSource()
  await sql`drop function refuse cascade`.execute(app.db)

  expect(deleted.status).toBe(204)
  expect([await listTriggered(app, web), await listTriggered(app, dns)]).toMatchObject([[], [{}]])
  const { meta } = await app.db
    .selectFrom('audit_events')
    .select('meta')
    .where('resource_id', '=', network.workspaceId)
    .where('action', '=', 'destroy')
    .executeTakeFirstOrThrow()
  expect(meta).toEqual({ name: network.workspaceName, unfired: [web.workspaceId] })
})

async function lockRow(tx: Tx, { workspaceId }: RunSetting) {
  await allowIdle(tx)
  await sql`select from workspaces where id = ${workspaceId} for update nowait`.execute(tx)
}

/** Resolves when a statement in the database waits for another transaction. */
async function untilWaiting() {
  await expect.poll(async () => countLockWaits(app.db)).toBeGreaterThan(0)
}
