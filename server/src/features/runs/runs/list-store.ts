import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { grantsColumn } from '../../../auth/facts-sql.ts'
import type { GrantsColumn } from '../../../auth/facts.ts'
import type { Db } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { heardSince } from '../../workspaces/workspaces/waiting-store.ts'
import { filterCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { findRunIds } from './search-store.ts'
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

type WorkspaceList = { workspaceId: string; page: Page; filter: RunFilter | undefined; now: Date }

/**
 * A page of a workspace's runs, the newest first. Runs are numbered without gaps: without a filter the total needs no
 * count, and a late page does not have to skip the runs before it.
 */
export async function listWorkspaceRuns(db: Db, { workspaceId, page, filter, now }: WorkspaceList) {
  const condition = filter && filterCondition(filter)
  const count = await sql<{ total: number }>`${
    condition
      ? sql`select count(*) as total from runs r join workspaces w on w.id = r.workspace_id
             where r.workspace_id = ${workspaceId} and ${condition}`
      : sql`select coalesce(max(number), 0) as total from runs where workspace_id = ${workspaceId}`
  }`.execute(db)
  const total = count.rows[0]?.total ?? 0
  const offset = pageOffset(page)
  const ids = condition
    ? sql<string[]>`select r.id from runs r join workspaces w on w.id = r.workspace_id
        where r.workspace_id = ${workspaceId} and ${condition} order by r.number desc ${limited(page)}`
    : sql<string[]>`select r.id from runs r
        where r.workspace_id = ${workspaceId} and r.number <= ${total - offset} order by r.number desc limit ${sql.lit(page.size)}`
  const rows = await selectRuns(db, heardSince(now)).where(onPage(ids)).orderBy('r.number', 'desc').execute()
  return { rows, total }
}

export type OrganizationList = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none has to be checked. */
  seesAll: boolean
  /** Whether the answer depends on what teams grant on each workspace. */
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
