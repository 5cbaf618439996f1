import { type InferResult, type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { randomText } from '../../../ids.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import { isPresent } from '../../agents/agents/store.ts'
import { isPoolOpenTo } from '../../organizations/organizations/store.ts'
import { LOCKED_WORKSPACE_COLUMNS } from '../runs/locked-run-store.ts'
import { QUEUE_CLASS, newestProductOf, poolTopicOf } from '../runs/queued-job-store.ts'
import type { EngineHolder, Product, WantedEngine } from './engine-choice.ts'
import { type ClaimingAgent, holderOf } from './store.ts'

export type JobKind = 'plan' | 'apply'

/** A claim sent by an agent. */
export type ClaimRequest = {
  agent: ClaimingAgent
  warmRunIds: readonly string[]
  accepts: readonly JobKind[]
  /** Whether the agent acknowledges a job before it begins. */
  sendsReceipt: boolean
}

/** Restrictions on the jobs that a claim considers. */
type Choice = {
  /** Jobs reserved for another agent are eligible when queued before this. */
  preferredUntil: Date
  /** Jobs with these engines are left to other agents. */
  left: readonly SkippedEngine[]
}

/** An engine whose jobs are left to other agents. */
export type SkippedEngine = Pick<WantedEngine, 'product' | 'version' | 'required'> & {
  kind: JobKind
  /** The engine of the workspace's last run. */
  newestProduct: Product | null
}

/** Jobs tried at the head of a queue: others may have locked them, or a limit may block them. */
const HEADS = 50
/** Jobs scanned for one that is not skipped or reserved for another agent: a claim never reads all of a long queue. */
const DEPTH = 2000
/** Jobs scanned per lane: the jobs of an organization that request the same engine. */
const DEPTH_OF_LANE = 50
/** Jobs tried at the head of each lane when the head of the queue is blocked. */
const HEADS_OF_LANE = 10
/** Lanes scanned then, in each half of each class; the scan ends at this many candidates. */
const LANES = 250
const CANDIDATES = 1000

const runningOf = (column: 'organization_id' | 'agent_pool_id', value: RawBuilder<string>) =>
  sql`(select count(*) from agent_jobs at_work where at_work.status = 'running' and at_work.${sql.ref(column)} = ${value})`

const hasRoom = (limit: RawBuilder<number | null>, running: RawBuilder<unknown>) =>
  sql<boolean>`(${limit} is null or ${limit} > ${running})`

const organizationHasRoom = (alias: 'o') =>
  hasRoom(sql.ref(`${alias}.run_concurrency`), runningOf('organization_id', sql.ref(`${alias}.id`)))

const poolHasRoom = (alias: 'p' | 'pool') =>
  hasRoom(sql.ref(`${alias}.max_concurrent_jobs`), runningOf('agent_pool_id', sql.ref(`${alias}.id`)))

/** SQL of the ids of those of the pools in which a job is queued and the limit of the pool leaves room for it. */
export function poolsWithJobs(poolIds: readonly string[]) {
  return sql<string[]>`array(select p.id from agent_pools p
    where p.id = any(${poolIds})
      and exists (select from agent_jobs j where j.agent_pool_id = p.id and j.status = 'queued')
      and ${poolHasRoom('p')})`
}

/** The topics of all pools in which jobs of the organization may be queued. */
export async function listPoolTopics(tx: Tx, organizationId: string) {
  const { rows } = await sql<{ topic: string }>`select ${poolTopicOf(sql.ref('id'))} as topic from agent_pools
    where organization_id = ${organizationId} or id = ${BUILT_IN_POOL_ID}`.execute(tx)
  return rows.map(({ topic }) => topic)
}

/** Those of the agents that a queued job of the pool is reserved for. */
export async function listPreferredAgents(db: Db, poolId: string, agentIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select asked.id from unnest(${agentIds}::text[]) asked (id)
    where exists (select from agent_jobs j
      where j.preferred_agent_id = asked.id and j.status = 'queued' and j.agent_pool_id = ${poolId})`.execute(db)
  return rows.map(({ id }) => id)
}

export type QueuedJob = InferResult<ReturnType<typeof selectFreeJob>>[number] & {
  /** Whether the agent has not exited while its claim waited. */
  has_agent: boolean
}

/**
 * Locks the next job for an agent, and its workspace. Skips what others have locked, and what the limit of an organization or
 * of the pool holds back.
 */
export async function lockNextJob(
  tx: Tx,
  request: ClaimRequest,
  { preferredUntil, left }: Choice,
): Promise<QueuedJob | undefined> {
  const classes = classesOf(request.accepts)
  if (classes.length === 0) return undefined
  const { agent } = request
  const isIn = sql`j.status = 'queued' and j.agent_pool_id = ${agent.agent_pool_id}`
  const isQueued = sql`${isIn} and j.class between ${sql.lit(Math.min(...classes))} and ${sql.lit(Math.max(...classes))}`
  const isFree = sql`(j.preferred_agent_id is null or j.preferred_agent_id = ${agent.id} or j.queued_at < ${preferredUntil})`
  const isOpen = sql`${isFree} and ${isNotLeft(left)}`
  const found = await lockFirst(tx, agent, heads(request, { isQueued, isOpen }))
  return found ?? lockFirst(tx, agent, headsOfLanes(classes, { isIn, isOpen }))
}

type Condition = RawBuilder<unknown>

/** The head of the queue, preceded by applies of the agent's own plans and runs whose directory it still has. */
function heads({ agent, warmRunIds }: ClaimRequest, { isQueued, isOpen }: { isQueued: Condition; isOpen: Condition }) {
  const columns = (order: number) => sql`j.id, ${sql.lit(order)} as place, j.class, j.tag, j.seq`
  const warm = sql`union all
    select ${columns(0)} from agent_jobs j where j.run_id = any(${warmRunIds}) and j.status <> 'ended' and ${isQueued} and ${isOpen}`
  return sql`select id from (
      (select ${columns(0)} from agent_jobs j where j.preferred_agent_id = ${agent.id} and ${isQueued} and ${isOpen}
        order by j.seq limit ${sql.lit(HEADS)})
      ${warmRunIds.length > 0 ? warm : sql``}
      union all
      (select ${columns(1)} from (select * from agent_jobs j where ${isQueued}
          order by j.class, j.tag, j.seq limit ${sql.lit(DEPTH)}) j
        where ${isOpen} order by j.class, j.tag, j.seq limit ${sql.lit(HEADS)})) head
    order by place, class, tag, seq`
}

/** Whether a job asks for another engine than those. */
function isNotLeft(left: readonly SkippedEngine[]): Condition {
  if (left.length === 0) return sql`true`
  const asked = left.map(
    ({ kind, product, version, required, newestProduct }) => sql`(j.kind = ${kind}
      and r.engine_version = ${version} and r.engine_version_required = ${required}
      and case when j.kind = 'apply' or not r.engine_is_open then r.engine_product end is not distinct from ${product}::text
      and (${product}::text is not null or ${newestProductOf(sql.ref('j.workspace_id'))} is not distinct from ${newestProduct}::text))`,
  )
  // As a value, and not as a join: for that, PostgreSQL may read all runs that there are.
  return sql`(select not (${sql.join(asked, sql` or `)}) from runs r where r.id = j.run_id)`
}

/**
 * The first jobs of each lane of the organizations that their limit leaves room for: what holds back, or is left to others, thousands of
 * jobs at the head of a queue costs one look for each lane, and not one for each job. Of very many lanes each claim looks at some, from
 * the organization at a place by chance on.
 */
function headsOfLanes(classes: readonly number[], { isIn, isOpen }: { isIn: Condition; isOpen: Condition }) {
  const start = `org-${randomText(16)}`
  const parts = classes.flatMap((jobClass) => {
    const isInClass = sql`${isIn} and j.class = ${sql.lit(jobClass)}`
    return [sql`j.organization_id >= ${start}`, sql`j.organization_id < ${start}`].map((isInPart) =>
      headsOfPart({ isInClass, isInPart, isOpen }),
    )
  })
  return sql`select id from (select * from (${sql.join(parts, sql` union all `)}) part limit ${sql.lit(CANDIDATES)}) found
    order by class, tag, seq limit ${sql.lit(HEADS)}`
}

/** Those of one class and of a part of the organizations, whose lanes are found one after the other by an index. */
function headsOfPart({ isInClass, isInPart, isOpen }: Record<'isInClass' | 'isInPart' | 'isOpen', Condition>) {
  const next = (isAfter: Condition) => sql`(select j.organization_id, j.asked_engine from agent_jobs j
    where ${isInClass} and ${isInPart} and ${isAfter} order by j.organization_id, j.asked_engine limit 1)`
  const isAfterLane = sql`(j.organization_id, j.asked_engine) > (lane.organization_id, lane.asked_engine)`
  return sql`(with recursive lane as (
      select first.*, 1 as number from ${next(sql`true`)} first
      union all
      select following.*, lane.number + 1 from lane cross join lateral ${next(isAfterLane)} following
       where lane.number < ${sql.lit(LANES)})
    select j.* from lane join organizations o on o.id = lane.organization_id
     cross join lateral (select j.id, j.class, j.tag, j.seq from (
          select * from agent_jobs j
           where ${isInClass} and j.organization_id = lane.organization_id and j.asked_engine = lane.asked_engine
           order by j.round, j.tag, j.seq limit ${sql.lit(DEPTH_OF_LANE)}) j
        where ${isOpen} order by j.round, j.tag, j.seq limit ${sql.lit(HEADS_OF_LANE)}) j
     where ${organizationHasRoom('o')})`
}

async function lockFirst(
  tx: Tx,
  agent: ClaimingAgent,
  candidates: RawBuilder<unknown>,
): Promise<QueuedJob | undefined> {
  const { rows } = await firstFree(tx, agent.id, candidates).execute(tx)
  return rows[0]
}

/** Tries the candidates in their order, one at a time, and locks the first that is free. */
function firstFree(tx: Tx, agentId: string, candidates: RawBuilder<unknown>): RawBuilder<QueuedJob> {
  const hasAgent = sql`exists (select from agents a where a.id = ${agentId} and a.exited_at is null)`
  return sql`select found.*, ${hasAgent} as has_agent from (${candidates}) candidate
    cross join lateral (${selectFreeJob(tx)}) found limit 1`
}

/**
 * The queries that read the agent which has made the plan of a run, and lock the queued apply of that run for it. Both find nothing when
 * the agent has exited or takes no applies, and the second also when the job is one of another pool or a limit holds it back.
 */
export function applyLock(tx: Tx, { runId, agentId }: { runId: string; agentId: string }) {
  const agent = tx
    .selectFrom('agents as a')
    .select(['a.id', 'a.name', 'a.agent_pool_id', 'a.engines', 'a.downloads_engines'])
    .where('a.id', '=', agentId)
    .where('a.exited_at', 'is', null)
    .where(sql<boolean>`'apply' = any(a.accepts)`)
  const candidate = sql`select j.id from agent_jobs j join (${agent}) a on a.agent_pool_id = j.agent_pool_id
    where j.run_id = ${runId} and j.status = 'queued' and j.kind = 'apply'`
  return [agent, firstFree(tx, agentId, candidate)] as const
}

/** Engines reported by the other online or busy agents of a pool that accept the kind of job. */
export async function listOtherHolders(
  db: Db,
  { agent, kind, ...online }: { agent: ClaimingAgent; kind: JobKind; since: Date; now: Date },
): Promise<EngineHolder[]> {
  const rows = await db
    .selectFrom('agents as a')
    .select(['a.engines', 'a.downloads_engines'])
    .where('a.agent_pool_id', '=', agent.agent_pool_id)
    .where('a.id', '!=', agent.id)
    .where('a.exited_at', 'is', null)
    .where(isPresent(online))
    .where(sql<boolean>`${kind} = any(a.accepts)`)
    .execute()
  return rows.map(holderOf)
}

/** The job that `candidate` names. It and its workspace are locked if no one else has locked them. */
function selectFreeJob(tx: Tx) {
  return tx
    .selectFrom('agent_jobs as j')
    .innerJoin('workspaces as w', 'w.id', 'j.workspace_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .innerJoin('agent_pools as pool', 'pool.id', 'j.agent_pool_id')
    .select(LOCKED_WORKSPACE_COLUMNS.map((column) => `w.${column}` as const))
    .select(['j.id as job_id', 'j.run_id', 'w.name as workspace_name', 'w.project_id'])
    .select(['o.name as organization_name', 'p.name as project_name'])
    .select(['j.agent_pool_id', 'o.run_concurrency', 'pool.max_concurrent_jobs', 'pool.name as pool_name'])
    .select(newestProductOf(sql.ref('w.id')).as('newest_product'))
    .select(isPoolOpenTo('pool', { workspaceId: sql.ref('w.id'), projectId: sql.ref('w.project_id') }).as('is_served'))
    .select((eb) =>
      eb
        .selectFrom('state_versions as s')
        .whereRef('s.id', '=', 'w.current_state_version_id')
        .select('s.size')
        .as('state_bytes'),
    )
    .select((eb) =>
      eb
        .selectFrom('state_versions as s')
        .whereRef('s.id', '=', 'w.current_state_version_id')
        .where(sql<boolean>`jsonb_typeof(s.providers) = 'object'`)
        .select(sql<string[]>`array(select jsonb_object_keys(s.providers))`.as('providers'))
        .as('state_providers'),
    )
    .where(sql<boolean>`j.id = candidate.id`)
    .where('j.status', '=', sql.lit('queued' as const))
    .where(organizationHasRoom('o'))
    .where(poolHasRoom('pool'))
    .forNoKeyUpdate(['j', 'w'])
    .skipLocked()
}

/**
 * Whether the limits still leave room for a job, as seen by one claim at a time. The rows of the limits are locked, and are not
 * waited for: a claim that finds them locked may try again.
 */
export async function lockLimits(
  tx: Tx,
  job: Pick<QueuedJob, 'organization_id' | 'agent_pool_id' | 'run_concurrency' | 'max_concurrent_jobs'>,
): Promise<boolean> {
  if (job.run_concurrency === null && job.max_concurrent_jobs === null) return true
  const { rows: locked } =
    await sql`select o.id from organizations o join agent_pools pool on pool.id = ${job.agent_pool_id}
    where o.id = ${job.organization_id} for no key update skip locked`.execute(tx)
  if (locked.length === 0) return false
  // A separate statement, which sees the commit of the last lock holder.
  const { rows } = await sql`select from organizations o join agent_pools pool on pool.id = ${job.agent_pool_id}
    where o.id = ${job.organization_id} and ${organizationHasRoom('o')} and ${poolHasRoom('pool')}`.execute(tx)
  return rows.length > 0
}

const CLASSES = { apply: [QUEUE_CLASS.apply], plan: [QUEUE_CLASS.plan, QUEUE_CLASS.planOnly] } as const

/** The classes that an agent takes jobs of, in the order in which they are served. */
function classesOf(accepts: readonly JobKind[]): number[] {
  return accepts.flatMap((kind) => CLASSES[kind]).toSorted((a, b) => a - b)
}
