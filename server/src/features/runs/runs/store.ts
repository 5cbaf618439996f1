import { type RawBuilder, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { type ActorInSql, sharedAccessColumn, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { heardSince, stagesColumn, waitingColumn } from '../../workspaces/workspaces/waiting-store.ts'

/** Number of newest comments in the relationships of a run; the list has all. */
const MAX_COMMENTS = 100

/** Runs `r` with the columns of their resource, in workspaces `w`; `heard` is `heardSince`. */
export function selectRuns(db: Db, heard: string | RawBuilder<string>) {
  return db
    .selectFrom('runs as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('phases as plan', (join) =>
      join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', sql.lit('plan' as const)),
    )
    .innerJoin('phases as apply', (join) =>
      join.onRef('apply.run_id', '=', 'r.id').on('apply.kind', '=', sql.lit('apply' as const)),
    )
    .selectAll('r')
    .select([
      'plan.id as plan_id',
      'plan.status as plan_status',
      'apply.id as apply_id',
      'w.name as workspace_name',
      'w.current_state_version_id',
      'o.name as organization_name',
    ])
    .select([
      sql<string | null>`(select cause.name from workspaces cause where cause.id = r.triggering_workspace_id)`.as(
        'triggering_workspace_name',
      ),
      // Avoids the look-up for runs without a cause.
      sql<string[]>`case when r.triggering_run_id is null then '{}'::text[]
          else array(select f.source_run_id from trigger_firings f where f.run_id = r.id order by f.id) end`.as(
        'triggering_run_ids',
      ),
    ])
    .select([
      sql<string[]>`array(select last.id from (
          select c.id, c.seq from comments c where c.run_id = r.id order by c.seq desc limit ${sql.lit(MAX_COMMENTS)}) last
        order by last.seq)`.as('comment_ids'),
      waitingColumn(heard).as('waiting'),
      stagesColumn.as('task_stages'),
    ])
}

/** As `selectRuns`, with the actor's access to each workspace. */
function selectRunsFor(db: Db, actor: ActorInSql, heard: string | RawBuilder<string>) {
  return selectRuns(db, heard).select(workspaceAccessColumn(actor).as('access'))
}

export async function findRun(db: Db, actor: Actor, { id, now }: { id: string; now: Date }) {
  const heard = heardSince(now)
  if (actor.kind !== 'user') return selectRunsFor(db, actor, heard).where('r.id', '=', id).executeTakeFirst()
  return findForUser(db, { userId: actor.userId, heard, id })
}

// Clients poll runs: concurrent requests share a statement.
const findForUser = lookup(['userId', 'heard', 'id'], (db, { userId, heard, id }) =>
  selectRunsFor(db, userInSql(userId), heard).where('r.id', '=', id),
)

export type FoundRun = NonNullable<Awaited<ReturnType<typeof findRun>>>

type Runs = { ids: readonly string[] | RawBuilder<string[]>; now: Date }

export async function findRuns(db: Db, actor: Actor, { ids, now }: Runs) {
  const rows = await selectRuns(db, heardSince(now))
    .select(sharedAccessColumn(actor).as('access'))
    .where(sql<boolean>`r.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

type Versions = { versionIds: readonly string[]; now: Date }

export async function findRunsOfConfigurations(db: Db, actor: Actor, { versionIds, now }: Versions) {
  const ids = sql<string[]>`array(select (select last.id from runs as last
      where last.configuration_version_id = version order by last.seq desc limit 1)
    from unnest(${versionIds}::text[]) version)`
  return findRuns(db, actor, { ids, now })
}
