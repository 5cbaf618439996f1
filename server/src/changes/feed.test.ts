import { expect, test } from 'vitest'
import { transact } from '../db/db.ts'
import { updateWorkspace } from '../features/workspaces/workspaces/service.ts'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../testing/factories.ts'
import { allSignals } from '../testing/signals.ts'
import { createChangeFeed } from './feed.ts'

const app = await createTestApp()

async function setting() {
  const actor = (await createUser(app)).actor
  const owner = { id: actor.userId, username: actor.username, email: '', token: '', actor }
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name })
  await allSignals(app)
  return { organization, workspace }
}

async function describe(id: string, description: string) {
  await updateWorkspace(
    app.as(),
    { id },
    { input: { type: 'workspaces', attributes: { description }, relationships: {} } },
  )
  await allSignals(app)
}

test('a process that started later knows the cursors of the notices it received', async () => {
  const { organization, workspace } = await setting()
  await describe(workspace.id, 'first')
  using later = createChangeFeed(app.signals)
  const unknown = app.changes.cursor()
  await describe(workspace.id, 'second')
  const cursor = app.changes.cursor()
  await describe(workspace.id, 'third')

  const received = [cursor, unknown].map((after) => later.since(after, organization.id)?.map(({ id }) => id))

  expect(received).toEqual([[workspace.id, workspace.id], undefined])
})

test('the changes of an organization do not include those of others', async () => {
  const [{ organization }, other] = [await setting(), await setting()]
  const cursor = app.changes.cursor()

  await describe(other.workspace.id, 'new')

  expect(app.changes.since(cursor, organization.id)?.filter((change) => change.cursor !== cursor)).toEqual([])
})

test('changes of a failed transaction are not announced', async () => {
  const { organization, workspace } = await setting()

  await transact(app.as(), async (ctx) => {
    await updateWorkspace(
      ctx,
      { id: workspace.id },
      { input: { type: 'workspaces', attributes: { description: 'lost' }, relationships: {} } },
    )
    throw new Error('it fails')
  }).catch(() => {})
  await describe(workspace.id, 'kept')

  expect(app.changes.since(app.changes.cursor(), organization.id)?.length).toBe(1)
})
