import { EXECUTING_STATUSES, QUEUED_STATUSES, type RunStatus } from '@groundstate/contract/run-status'
import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import { isUnfinished, statusCondition } from './filter-store.ts'
import { type OrganizationList, limited, onPage, selectListed } from './list-store.ts'

const isWaiting = sql<boolean>`(r.waits or r.status in (${literals(QUEUED_STATUSES)}))`

const isAtWork = sql<boolean>`r.status in (${literals(EXECUTING_STATUSES)})`

/**
 * Unfinished runs of an organization in the order of their creation. `position` counts the runs that agents work on first, as
 * command lines expect, which subtract their number; it is 0 for runs that do not wait.
 */
export async function listQueue(
  db: Db,
  actor: Actor,
  {
    organizationId,
    page,
    seesAll,
    grants,
    statuses,
    now,
  }: OrganizationList & { statuses: readonly RunStatus[] | undefined },
) {
  // Without the workspaces, a count reads nothing but an index.
  const unfinished = sql`from runs r ${seesAll ? sql`` : sql`join workspaces w on w.id = r.workspace_id`}
    where r.organization_id = ${organizationId} and ${isUnfinished}
      ${statuses ? sql`and ${statusCondition(statuses)}` : sql``}
      ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`}`
  const ids = sql<string[]>`select r.id ${unfinished} order by r.seq ${limited(page)}`
  const rows = await selectListed(db, actor, { grants, now }).where(onPage(ids)).orderBy('r.seq').execute()
  const count = await sql<{ total: number }>`select count(*) as total ${unfinished}`.execute(db)
  const positions = await findPositions(
    db,
    organizationId,
    rows.map(({ id }) => id),
  )
  return {
    rows: rows.map((row) => ({ ...row, position: positions.get(row.id) ?? 0 })),
    total: count.rows[0]?.total ?? 0,
  }
}

/** The positions of those of the runs that wait. What comes behind them in the queue is not read. */
async function findPositions(db: Db, organizationId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, number>()
  const { rows } = await sql<{ id: string; position: number }>`select id, at_work + place as position from (
      select r.id, ${isWaiting} as is_waiting, count(*) filter (where ${isWaiting}) over (order by r.seq) as place
        from runs r where r.organization_id = ${organizationId} and ${isUnfinished}
         and r.seq <= (select max(last.seq) from runs last where last.id = any(${ids}))) placed
    cross join (select count(*) as at_work from runs r where r.organization_id = ${organizationId} and ${isAtWork}) work
    where is_waiting and id = any(${ids})`.execute(db)
  return new Map(rows.map(({ id, position }) => [id, position]))
}

/** How many runs of the organization agents work on, how many wait, and how many agents may work on at once. */
export async function countQueue(db: Db, organizationId: string) {
  return db
    .selectFrom('runs as r')
    .where('r.organization_id', '=', organizationId)
    .where(isUnfinished)
    .select([
      sql<number>`count(*) filter (where ${isWaiting})`.as('pending'),
      sql<number>`count(*) filter (where ${isAtWork})`.as('running'),
      sql<number | null>`(select run_concurrency from organizations where id = ${organizationId})`.as('limit'),
    ])
    .executeTakeFirstOrThrow()
}
