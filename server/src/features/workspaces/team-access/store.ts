import { sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { raiseAccessRevision } from '../../organizations/organizations/access-revision-store.ts'
import type { GrantColumns, GrantKind } from './grant-kind.ts'

type NewGrant = GrantRow & { created_at: Date }
export type GrantRow = GrantColumns & { id: string; team_id: string; subject_id: string; access: string }

const columns = ({ subjectColumn }: GrantKind) => sql`*, ${sql.ref(subjectColumn)} as subject_id`

export async function findGrant(db: Db, kind: GrantKind, id: string) {
  const { rows } = await sql<GrantRow>`select ${columns(kind)} from ${sql.table(kind.table)} where id = ${id}`.execute(
    db,
  )
  return rows[0]
}

export type GrantFilter = {
  subjectId: string
  teamId: string | undefined
  /** Only the teams of this user; undefined for those who see all. */
  ofUser: string | undefined
  /** The list is whole without a page. */
  page: Page | undefined
}

/** What teams may do to a workspace or project. */
export async function listGrants(db: Db, kind: GrantKind, { subjectId, teamId, ofUser, page }: GrantFilter) {
  const found = sql`from ${sql.table(kind.table)} g where ${sql.ref(kind.subjectColumn)} = ${subjectId}
    ${teamId === undefined ? sql`` : sql`and team_id = ${teamId}`}
    ${ofUser === undefined ? sql`` : sql`and exists (select from team_members m where m.team_id = g.team_id and m.user_id = ${ofUser})`}`
  const ordered = sql`select ${columns(kind)} ${found} order by created_at, id`
  if (!page) {
    const { rows } = await sql<GrantRow>`${ordered}`.execute(db)
    return { rows, total: rows.length }
  }
  const [{ rows }, counted] = await Promise.all([
    sql<GrantRow>`${ordered} limit ${page.size} offset ${pageOffset(page)}`.execute(db),
    sql<{ total: number }>`select count(*) as total ${found}`.execute(db),
  ])
  return { rows, total: counted.rows[0]?.total ?? 0 }
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

export async function insertGrant(tx: Tx, kind: GrantKind, { subject_id: subjectId, ...rest }: NewGrant) {
  const row = { ...rest, [kind.subjectColumn]: subjectId }
  const names = Object.keys(row).map((name) => sql.ref(name))
  const { rows } = await sql<GrantRow>`insert into ${sql.table(kind.table)} (${sql.join(names)})
    values (${sql.join(Object.values(row))}) returning ${columns(kind)}`.execute(tx)
  await raiseAccessRevision(tx, { teamId: rest.team_id })
  const [inserted] = rows
  if (!inserted) throw new Error('an insert has returned no row')
  return inserted
}

export async function updateGrant(
  db: Db,
  kind: GrantKind,
  { id, changes }: { id: string; changes: GrantColumns & { access: string } },
) {
  const changed = Object.entries(changes).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
  const { rows } = await sql<GrantRow>`update ${sql.table(kind.table)} set ${sql.join(changed)} where id = ${id}
    returning ${columns(kind)}`.execute(db)
  return rows[0]
}

export async function deleteGrant(tx: Tx, kind: GrantKind, id: string) {
  const { rows } = await sql<{ team_id: string }>`delete from ${sql.table(kind.table)} where id = ${id}
    returning team_id`.execute(tx)
  const [deleted] = rows
  if (deleted) await raiseAccessRevision(tx, { teamId: deleted.team_id })
}
