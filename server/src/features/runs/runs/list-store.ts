import { type RawBuilder, sql } from 'kysely'
import type { GrantsColumn } from '../../../auth/access-context.ts'
import { grantsColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { heardSince } from '../../workspaces/workspaces/waiting-store.ts'
import { filterCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { findFewRunIds, findRunIds } from './search-store.ts'
import { selectRuns } from './store.ts'

/**
 * The ids of the runs on a page are found first. The columns of the resource are then read for these runs only, and not
 * for all that come before them in the list.
 */
type PageOfIds = RawBuilder<string[]>

/**
 * The limit is a literal, and a first page has no offset, so that PostgreSQL can tell from a prepared statement that it
 * needs few rows.
 */
export function limited(page: Page, more = 0) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + more)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}

export const onPage = (ids: PageOfIds) => sql<boolean>`r.id = any(array(${ids}))`

type WorkspaceList = {
  organizationId: string
  workspaceId: string
  page: Page
  filter: RunFilter | undefined
  now: Date
}

/** In a workspace with no more runs, reading all of them takes no longer than a search. */
const FEW = 2000

/**
 * A page of a workspace's runs, the newest first. Runs are numbered without gaps: without a filter the total needs no
 * count, and a late page does not have to skip the runs before it.
 */
export async function listWorkspaceRuns(db: Db, { filter, now, ...list }: WorkspaceList) {
  const last = await sql<{ number: number }>`select coalesce(max(number), 0) as number from runs
    where workspace_id = ${list.workspaceId}`.execute(db)
  const count = last.rows[0]?.number ?? 0
  const { ids, total } = filter
    ? (count > FEW && (await findFewRunIds(db, { ...list, filter }))) || (await findAmongAll(db, { ...list, filter }))
    : { ids: await findNumbered(db, list, count), total: count }
  const rows = await selectRuns(db, heardSince(now))
    .where(sql<boolean>`r.id = any(${ids})`)
    .orderBy('r.number', 'desc')
    .execute()
  return { rows, total }
}

type Numbered = { workspaceId: string; page: Page }

async function findNumbered(db: Db, { workspaceId, page }: Numbered, last: number) {
  const { rows } = await sql<{ id: string }>`select r.id from runs r
    where r.workspace_id = ${workspaceId} and r.number <= ${last - pageOffset(page)}
    order by r.number desc limit ${sql.lit(page.size)}`.execute(db)
  return rows.map(({ id }) => id)
}

async function findAmongAll(db: Db, { workspaceId, page, filter }: Numbered & { filter: RunFilter }) {
  const matching = sql`runs r join workspaces w on w.id = r.workspace_id
    where r.workspace_id = ${workspaceId} and ${filterCondition(filter)}`
  const { rows } = await sql<{ ids: string[]; total: number }>`select (select count(*) from ${matching}) as total,
    array(select r.id from ${matching} order by r.number desc ${limited(page)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

export type OrganizationList = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none has to be checked. */
  seesAll: boolean
  /** Whether the response depends on what teams grant on each workspace. */
  grants: boolean
  now: Date
}

/** As `selectRuns`, with what teams grant. The other facts are the same for the whole organization. */
export function selectListed(db: Db, actor: Actor, { grants, now }: Pick<OrganizationList, 'grants' | 'now'>) {
  const subject = { projectId: sql`w.project_id`, workspaceId: sql`w.id` }
  return selectRuns(db, heardSince(now)).select(
    (grants ? grantsColumn(actor, subject) : sql<GrantsColumn>`null::jsonb`).as('grants'),
  )
}

/** A page of an organization's runs, the newest first, and one more when there is a next page. */
export async function listOrganizationRuns(
  db: Db,
  actor: Actor,
  { grants, now, ...search }: OrganizationList & { filter: RunFilter | undefined },
) {
  const ids = await findRunIds(db, actor, search)
  return selectListed(db, actor, { grants, now })
    .where(sql<boolean>`r.id = any(${ids})`)
    .orderBy('r.seq', 'desc')
    .execute()
}
