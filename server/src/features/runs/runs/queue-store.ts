import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import { limited, onPage, type OrganizationList, selectListed } from './list-store.ts'

/** Must stay in the words of the partial index over unfinished runs. */
const isUnfinishedOf = (alias: 'r' | 'q') =>
  sql<boolean>`${sql.ref(`${alias}.status`)} not in ('planned_and_finished', 'planned_and_saved', 'applied', 'discarded',
  'canceled', 'force_canceled', 'errored')`

const isUnfinished = isUnfinishedOf('r')

const isWaiting = (alias: 'r' | 'q') =>
  sql<boolean>`(${sql.ref(`${alias}.waits`)} or ${sql.ref(`${alias}.status`)} in ('plan_queued', 'apply_queued'))`

/** Unfinished runs of an organization in the order in which they start; `position` is 0 for those that do not wait. */
export async function listQueue(
  db: Db,
  actor: Actor,
  { organizationId, page, seesAll, grants, now }: OrganizationList,
) {
  const unfinished = sql`from runs r join workspaces w on w.id = r.workspace_id
    where r.organization_id = ${organizationId} and ${isUnfinished}
      ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`}`
  const ids = sql<string[]>`select r.id ${unfinished} order by r.seq ${limited(page)}`
  const rows = await selectListed(db, actor, { grants, now })
    .select(
      sql<number>`case when ${isWaiting('r')} then (select count(*) from runs q
          where q.organization_id = r.organization_id and q.seq <= r.seq and ${isUnfinishedOf('q')}
            and ${isWaiting('q')}) else 0 end`.as('position'),
    )
    .where(onPage(ids))
    .orderBy('r.seq')
    .execute()
  const count = await sql<{ total: number }>`select count(*) as total ${unfinished}`.execute(db)
  return { rows, total: count.rows[0]?.total ?? 0 }
}

/** How many runs of the organization agents work on, and how many wait. */
export async function countQueue(db: Db, organizationId: string) {
  return db
    .selectFrom('runs as r')
    .where('r.organization_id', '=', organizationId)
    .where(isUnfinished)
    .select([
      sql<number>`count(*) filter (where ${isWaiting('r')})`.as('pending'),
      sql<number>`count(*) filter (where r.status in ('planning', 'applying'))`.as('running'),
    ])
    .executeTakeFirstOrThrow()
}
