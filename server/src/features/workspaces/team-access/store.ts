import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { raiseAccessRevision } from '../../organizations/organizations/access-revision-store.ts'

export type TeamWorkspaceRow = Selectable<Schema['team_workspaces']>

export async function findTeamWorkspace(db: Db, id: string) {
  return db.selectFrom('team_workspaces').selectAll().where('id', '=', id).executeTakeFirst()
}

export type TeamWorkspaceFilter = {
  workspaceId: string
  teamId: string | undefined
  /** Only the teams of this user; undefined for those who see all. */
  ofUser: string | undefined
}

/** What teams may do to the workspace; all of it without a page. */
export async function listTeamWorkspaces(db: Db, filter: TeamWorkspaceFilter, page: Page | undefined) {
  const { workspaceId, teamId, ofUser } = filter
  let query = db.selectFrom('team_workspaces as g').where('g.workspace_id', '=', workspaceId)
  if (teamId !== undefined) query = query.where('g.team_id', '=', teamId)
  if (ofUser !== undefined) {
    query = query.where(
      sql<boolean>`exists (select from team_members m where m.team_id = g.team_id and m.user_id = ${ofUser})`,
    )
  }
  const ordered = query.selectAll().orderBy('g.created_at').orderBy('g.id')
  if (!page) {
    const rows = await ordered.execute()
    return { rows, total: rows.length }
  }
  const [rows, count] = await Promise.all([
    ordered.limit(page.size).offset(pageOffset(page)).execute(),
    query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.total }
}

export async function isTeamMember(db: Db, teamId: string, userId: string) {
  const row = await db
    .selectFrom('team_members')
    .select('team_id')
    .where('team_id', '=', teamId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertTeamWorkspace(tx: Tx, row: Insertable<Schema['team_workspaces']>) {
  const inserted = await tx.insertInto('team_workspaces').values(row).returningAll().executeTakeFirstOrThrow()
  await raiseAccessRevision(tx, { teamId: row.team_id })
  return inserted
}

export async function updateTeamWorkspace(db: Db, id: string, changes: Updateable<Schema['team_workspaces']>) {
  return db.updateTable('team_workspaces').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

export async function deleteTeamWorkspace(tx: Tx, id: string) {
  const deleted = await tx.deleteFrom('team_workspaces').where('id', '=', id).returning('team_id').executeTakeFirst()
  if (deleted) await raiseAccessRevision(tx, { teamId: deleted.team_id })
}
