import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../testing/factories.ts'
import { createChangeFeed } from './feed.ts'

const app = await createTestApp()

async function setting() {
  const actor = (await createUser(app)).actor
  const owner = { id: actor.userId, username: actor.username, email: '', token: '', actor }
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name })
  return { organization, workspace }
}

async function describe(id: string, description: string) {
  await app.db.updateTable('workspaces').set({ description }).where('id', '=', id).execute()
}

test('a process that began later knows the cursors of what it was told', async () => {
  const { organization, workspace } = await setting()
  await describe(workspace.id, 'first')
  await expect.poll(() => app.changes.since(app.changes.cursor(), organization.id)?.length).toBe(1)
  using later = createChangeFeed(app.signals)
  const unknown = app.changes.cursor()
  await describe(workspace.id, 'second')
  await expect.poll(() => app.changes.cursor()).not.toBe(unknown)
  const cursor = app.changes.cursor()
  await describe(workspace.id, 'third')
  await expect.poll(() => app.changes.cursor()).not.toBe(cursor)

  const told = [cursor, unknown].map((mark) => later.since(mark, organization.id)?.map(({ id }) => id))

  expect(told).toEqual([[workspace.id, workspace.id], undefined])
})

test('changes of other organizations are not among those of one', async () => {
  const [{ organization }, other] = [await setting(), await setting()]
  const cursor = app.changes.cursor()

  await describe(other.workspace.id, 'new')
  await expect.poll(() => app.changes.cursor()).not.toBe(cursor)

  expect(app.changes.since(cursor, organization.id)?.filter(({ mark }) => mark !== cursor)).toEqual([])
})

test('what has changed in a transaction that fails is not told', async () => {
  const { organization, workspace } = await setting()
  const cursor = app.changes.cursor()

  await app.db
    .transaction()
    .execute(async (tx) => {
      await tx.updateTable('workspaces').set({ description: 'lost' }).where('id', '=', workspace.id).execute()
      throw new Error('it fails')
    })
    .catch(() => {})
  await describe(workspace.id, 'kept')
  await expect.poll(() => app.changes.cursor()).not.toBe(cursor)

  expect(app.changes.since(app.changes.cursor(), organization.id)?.length).toBe(1)
})
