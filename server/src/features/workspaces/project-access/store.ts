import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { raiseAccessRevision } from '../../organizations/organizations/access-revision-store.ts'

export type TeamProjectRow = Selectable<Schema['team_projects']>

export async function findTeamProject(db: Db, id: string) {
  return db.selectFrom('team_projects').selectAll().where('id', '=', id).executeTakeFirst()
}

export type TeamProjectFilter = {
  projectId: string
  teamId: string | undefined
  /** Only the teams of this user; undefined for those who see all. */
  ofUser: string | undefined
}

/** What teams may do to the project; all of it without a page. */
export async function listTeamProjects(db: Db, filter: TeamProjectFilter, page: Page | undefined) {
  const { projectId, teamId, ofUser } = filter
  let query = db.selectFrom('team_projects as g').where('g.project_id', '=', projectId)
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

export async function insertTeamProject(tx: Tx, row: Insertable<Schema['team_projects']>) {
  const inserted = await tx.insertInto('team_projects').values(row).returningAll().executeTakeFirstOrThrow()
  await raiseAccessRevision(tx, { teamId: row.team_id })
  return inserted
}

export async function updateTeamProject(db: Db, id: string, changes: Updateable<Schema['team_projects']>) {
  return db.updateTable('team_projects').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

export async function deleteTeamProject(tx: Tx, id: string) {
  const deleted = await tx.deleteFrom('team_projects').where('id', '=', id).returning('team_id').executeTakeFirst()
  if (deleted) await raiseAccessRevision(tx, { teamId: deleted.team_id })
}
