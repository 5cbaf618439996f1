import { type Insertable, type RawBuilder, sql } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import type { RunRow } from './locked-run-store.ts'

/** Maximum jobs of an organization that are counted; jobs beyond it are ordered by arrival. */
const MAX_COUNTED = 1000

/** Characters of the requested version that distinguish lanes. */
const VERSION_LENGTH = 100

/**
 * The statement that queues a job, for `writeBatch`. It assigns the job's place in the queue of its pool and class
 * (`docs/RUNS.md`, "Which job an agent gets"):
 *
 * - `round`: the number of the workspace's jobs in the queue, counted from the organization's current round.
 * - `tag`: the current tag of the pool, plus the organization's queued jobs up to this round. The current tag is the lowest in the
 *   queue or the highest of running jobs, so a later job never precedes one that waited while the pool advanced. Applies that their
 *   agent claimed ahead of others do not count.
 *
 * Each lookup reads the end of an index, except for one bounded count.
 */
export function queuedJobInsert({ engine, ...job }: NewJob): RawBuilder<unknown> {
  const columns = Object.keys(job) as (keyof typeof job)[]
  const queued = sql`status = 'queued' and agent_pool_id = own.pool and class = own.class`
  return sql`insert into agent_jobs (${sql.join(columns.map((column) => sql.ref(column)))}, requested_engine, round, tag)
    select ${sql.join(columns.map((column) => sql`${job[column]}`))}, ${requestedEngine(job.workspace_id, engine)},
           own_round.round, own_tag.tag
      from (select ${job.agent_pool_id}::text as pool, ${job.class}::smallint as class,
                   ${job.organization_id}::text as organization, ${job.workspace_id}::text as workspace) own
      cross join lateral (select 1 + greatest(0,
          (select round from agent_jobs where ${queued} and organization_id = own.organization order by round limit 1),
          (select round from agent_jobs where ${queued} and workspace_id = own.workspace order by tag desc limit 1))
        as round) own_round
      cross join lateral (select 1 + greatest(
          greatest(0,
            (select tag from agent_jobs where ${queued} order by tag limit 1),
            (select tag from agent_jobs where status = 'running' and agent_pool_id = own.pool and class = own.class
              and agent_id is distinct from preferred_agent_id
              order by tag desc limit 1))
          + (select count(*) from (select from agent_jobs
              where ${queued} and organization_id = own.organization and round <= own_round.round
              order by round limit ${sql.lit(MAX_COUNTED)}) counted),
          (select tag from agent_jobs where ${queued} and workspace_id = own.workspace order by tag desc limit 1),
          (select tag from agent_jobs where ${queued} and organization_id = own.organization and round = own_round.round
            order by tag desc limit 1))
        as tag) own_tag`
}

/** SQL of the engine of the workspace's newest run that has one. */
export function newestProductOf(workspaceId: RawBuilder<unknown>) {
  return sql<RunRow['engine_product'] | null>`(select newest.engine_product from runs newest
    where newest.workspace_id = ${workspaceId} and not newest.engine_is_open order by newest.number desc limit 1)`
}

/** The lane of a job: claims skip jobs with the same requested engine together. */
function requestedEngine(workspaceId: string, { product, version, required }: NewJob['engine']) {
  const requested = product ?? newestProductOf(sql`${workspaceId}`)
  return sql`concat_ws(' ', ${requested}::text, ${version.slice(0, VERSION_LENGTH)}::text, ${required}::boolean)`
}

export function poolTopicOf(poolId: RawBuilder<unknown>) {
  return sql<string>`${sql.lit(poolTopic(''))} || ${poolId}`
}

/** SQL of the topics of pools where the end of a job of this run may unblock jobs held by a limit. */
export function unblockedPools(run: Pick<RunRow, 'organization_id' | 'agent_pool_id'>) {
  return sql<{ topic: string }>`select ${poolTopicOf(sql.ref('p.id'))} as topic
    from organizations o join agent_pools p
      on p.organization_id = o.id or p.id in (${BUILT_IN_POOL_ID}, ${run.agent_pool_id})
   where o.id = ${run.organization_id}
     and (o.run_concurrency is not null or (p.id = ${run.agent_pool_id} and p.max_concurrent_jobs is not null))`
}

export type NewJob = Omit<Insertable<Schema['agent_jobs']>, 'round' | 'tag' | 'requested_engine'> & {
  /** The requested engine; a null product means that of the workspace's last run. */
  engine: { product: Schema['runs']['engine_product'] | null; version: string; required: boolean }
}

/** Priority classes of jobs in a pool, lowest first. */
export const QUEUE_CLASS = { apply: 0, plan: 1, planOnly: 2 } as const

export function queueClass(kind: 'plan' | 'apply', isPlanOnly: boolean) {
  if (kind === 'apply') return QUEUE_CLASS.apply
  return isPlanOnly ? QUEUE_CLASS.planOnly : QUEUE_CLASS.plan
}

/** Topic of the signal that a pool may have a job to claim. */
export function poolTopic(poolId: string) {
  return `pool:${poolId}`
}
