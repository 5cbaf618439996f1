import { type InferResult, type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { randomText } from '../../../ids.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import { isPresent } from '../../agents/agents/store.ts'
import { isPoolOpenTo } from '../../organizations/organizations/store.ts'
import { LOCKED_WORKSPACE_COLUMNS } from '../runs/locked-run-store.ts'
import { QUEUE_CLASS, newestProductOf, poolTopicOf } from '../runs/queued-job-store.ts'
import type { AgentEngines, Product, RequestedEngine } from './engine-choice.ts'
import { type ClaimingAgent, enginesOf } from './store.ts'

export type JobKind = 'plan' | 'apply'

export type ClaimRequest = {
  agent: ClaimingAgent
  warmRunIds: readonly string[]
  accepts: readonly JobKind[]
  /** Whether the agent acknowledges a job before it starts. */
  sendsReceipt: boolean
}

/** `preferredUntil`: jobs reserved for another agent are eligible if queued before this. */
type Restrictions = { preferredUntil: Date; skipped: readonly SkippedEngine[] }

export type SkippedEngine = Pick<RequestedEngine, 'product' | 'version' | 'required'> & {
  kind: JobKind
  /** The engine of the workspace's last run. */
  newestProduct: Product | null
}

/** Jobs tried at the head of a queue: others may be locked, or blocked by a limit. */
const MAX_HEADS = 50
/** Jobs scanned for one that is not skipped or reserved for another agent, so that a claim never reads all of a long queue. */
const MAX_DEPTH = 2000
/** Jobs scanned per lane: the jobs of an organization that request the same engine. */
const MAX_LANE_DEPTH = 50
/** Jobs tried at the head of each lane if the head of the queue is blocked. */
const MAX_LANE_HEADS = 10
/** Lanes scanned in each half of each class, and candidates at which that scan ends. */
const MAX_LANES = 250
const MAX_CANDIDATES = 1000

/** SQL of whether a limit leaves room for another job; `owner` is the table's alias in the query. */
function hasRoom(owner: 'o' | 'p' | 'pool') {
  const [limit, column] =
    owner === 'o' ? ['run_concurrency', 'organization_id'] : ['max_concurrent_jobs', 'agent_pool_id']
  const [limitRef, columnRef] = [sql.ref(`${owner}.${limit}`), sql.ref(`running.${column}`)]
  return sql<boolean>`(${limitRef} is null or ${limitRef} > (select count(*) from agent_jobs running
    where running.status = 'running' and ${columnRef} = ${sql.ref(`${owner}.id`)}))`
}

/** SQL of the ids of those of the pools that have a queued job and room for it. */
export function poolsWithJobs(poolIds: readonly string[]) {
  return sql<string[]>`array(select p.id from agent_pools p
    where p.id = any(${poolIds})
      and exists (select from agent_jobs j where j.agent_pool_id = p.id and j.status = 'queued')
      and ${hasRoom('p')})`
}

export async function listPoolTopics(tx: Tx, organizationId: string) {
  const { rows } = await sql<{ topic: string }>`select ${poolTopicOf(sql.ref('id'))} as topic from agent_pools
    where organization_id = ${organizationId} or id = ${BUILT_IN_POOL_ID}`.execute(tx)
  return rows.map(({ topic }) => topic)
}

export async function listPreferredAgents(db: Db, poolId: string, agentIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select agent.id from unnest(${agentIds}::text[]) agent (id)
    where exists (select from agent_jobs j
      where j.preferred_agent_id = agent.id and j.status = 'queued' and j.agent_pool_id = ${poolId})`.execute(db)
  return rows.map(({ id }) => id)
}

/** `has_agent`: the agent has not exited while its claim waited. */
export type QueuedJob = InferResult<ReturnType<typeof selectFreeJob>>[number] & { has_agent: boolean }

const CLASSES = { apply: [QUEUE_CLASS.apply], plan: [QUEUE_CLASS.plan, QUEUE_CLASS.planOnly] } as const

/** Locks the next job for an agent, and its workspace. Skips locked jobs and jobs blocked by the limit of an organization or the pool. */
export async function lockNextJob(tx: Tx, request: ClaimRequest, { preferredUntil, skipped }: Restrictions) {
  const classes = request.accepts.flatMap((kind): number[] => [...CLASSES[kind]]).toSorted((a, b) => a - b)
  if (classes.length === 0) return undefined
  const { agent } = request
  const isIn = sql`j.status = 'queued' and j.agent_pool_id = ${agent.agent_pool_id}`
  const isQueued = sql`${isIn} and j.class between ${sql.lit(Math.min(...classes))} and ${sql.lit(Math.max(...classes))}`
  const isFree = sql`(j.preferred_agent_id is null or j.preferred_agent_id = ${agent.id} or j.queued_at < ${preferredUntil})`
  const isOpen = sql`${isFree} and ${isNotSkipped(skipped)}`
  for (const candidates of [heads(request, { isQueued, isOpen }), headsOfLanes(classes, { isIn, isOpen })]) {
    const { rows } = await firstFree(tx, agent.id, candidates).execute(tx)
    if (rows[0]) return rows[0]
  }
  return undefined
}

type Condition = RawBuilder<unknown>

/** The head of the queue, preceded by applies of the agent's plans and by runs whose directory it still has. */
function heads({ agent, warmRunIds }: ClaimRequest, { isQueued, isOpen }: { isQueued: Condition; isOpen: Condition }) {
  const columns = (order: number) => sql`j.id, ${sql.lit(order)} as place, j.class, j.tag, j.seq`
  const warm = sql`union all
    select ${columns(0)} from agent_jobs j where j.run_id = any(${warmRunIds}) and j.status <> 'ended' and ${isQueued} and ${isOpen}`
  return sql`select id from (
      (select ${columns(0)} from agent_jobs j where j.preferred_agent_id = ${agent.id} and ${isQueued} and ${isOpen}
        order by j.seq limit ${sql.lit(MAX_HEADS)})
      ${warmRunIds.length > 0 ? warm : sql``}
      union all
      (select ${columns(1)} from (select * from agent_jobs j where ${isQueued}
          order by j.class, j.tag, j.seq limit ${sql.lit(MAX_DEPTH)}) j
        where ${isOpen} order by j.class, j.tag, j.seq limit ${sql.lit(MAX_HEADS)})) head
    order by place, class, tag, seq`
}

function isNotSkipped(skipped: readonly SkippedEngine[]): Condition {
  if (skipped.length === 0) return sql`true`
  const requests = skipped.map(
    ({ kind, product, version, required, newestProduct }) => sql`(j.kind = ${kind}
      and r.engine_version = ${version} and r.engine_version_required = ${required}
      and case when j.kind = 'apply' or not r.engine_is_open then r.engine_product end is not distinct from ${product}::text
      and (${product}::text is not null or ${newestProductOf(sql.ref('j.workspace_id'))} is not distinct from ${newestProduct}::text))`,
  )
  // A subquery, since PostgreSQL may read all runs for a join.
  return sql`(select not (${sql.join(requests, sql` or `)}) from runs r where r.id = j.run_id)`
}

/**
 * The first jobs of each lane of the organizations whose limit has room, so that thousands of blocked or skipped jobs cost one lookup
 * per lane and not one per job. If there are too many lanes, each claim scans some, starting at a random organization.
 */
function headsOfLanes(classes: readonly number[], { isIn, isOpen }: { isIn: Condition; isOpen: Condition }) {
  const start = `org-${randomText(16)}`
  const parts = classes.flatMap((jobClass) => {
    const isInClass = sql`${isIn} and j.class = ${sql.lit(jobClass)}`
    return [sql`j.organization_id >= ${start}`, sql`j.organization_id < ${start}`].map((isInPart) =>
      headsOfPart({ isInClass, isInPart, isOpen }),
    )
  })
  return sql`select id from (select * from (${sql.join(parts, sql` union all `)}) part limit ${sql.lit(MAX_CANDIDATES)}) found
    order by class, tag, seq limit ${sql.lit(MAX_HEADS)}`
}

type Part = Record<'isInClass' | 'isInPart' | 'isOpen', Condition>

/** The same for one class and some of the organizations, whose lanes an index finds one by one. */
function headsOfPart({ isInClass, isInPart, isOpen }: Part) {
  const next = (isAfter: Condition) => sql`(select j.organization_id, j.requested_engine from agent_jobs j
    where ${isInClass} and ${isInPart} and ${isAfter} order by j.organization_id, j.requested_engine limit 1)`
  const isAfterLane = sql`(j.organization_id, j.requested_engine) > (lane.organization_id, lane.requested_engine)`
  return sql`(with recursive lane as (
      select first.*, 1 as number from ${next(sql`true`)} first
      union all
      select following.*, lane.number + 1 from lane cross join lateral ${next(isAfterLane)} following
       where lane.number < ${sql.lit(MAX_LANES)})
    select j.* from lane join organizations o on o.id = lane.organization_id
     cross join lateral (select j.id, j.class, j.tag, j.seq from (
          select * from agent_jobs j
           where ${isInClass} and j.organization_id = lane.organization_id and j.requested_engine = lane.requested_engine
           order by j.round, j.tag, j.seq limit ${sql.lit(MAX_LANE_DEPTH)}) j
        where ${isOpen} order by j.round, j.tag, j.seq limit ${sql.lit(MAX_LANE_HEADS)}) j
     where ${hasRoom('o')})`
}

/** Tries the candidates in order, one at a time, and locks the first free one. */
function firstFree(tx: Tx, agentId: string, candidates: RawBuilder<unknown>): RawBuilder<QueuedJob> {
  const hasAgent = sql`exists (select from agents a where a.id = ${agentId} and a.exited_at is null)`
  return sql`select found.*, ${hasAgent} as has_agent from (${candidates}) candidate
    cross join lateral (${selectFreeJob(tx)}) found limit 1`
}

/** Queries for the agent of a plan, and a lock on the queued apply. Empty if the agent cannot take it, or another pool or a limit blocks it. */
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

type OtherAgents = { agent: ClaimingAgent; kind: JobKind; since: Date; now: Date }

/** Engines reported by the other online or busy agents of a pool that accept the kind of job. */
export async function listOtherEngines(db: Db, { agent, kind, ...online }: OtherAgents): Promise<AgentEngines[]> {
  const rows = await db
    .selectFrom('agents as a')
    .select(['a.engines', 'a.downloads_engines'])
    .where('a.agent_pool_id', '=', agent.agent_pool_id)
    .where('a.id', '!=', agent.id)
    .where('a.exited_at', 'is', null)
    .where(isPresent(online))
    .where(sql<boolean>`${kind} = any(a.accepts)`)
    .execute()
  return rows.map(enginesOf)
}

/** Selects the job of `candidate` if it is not locked, and locks it with its workspace. */
function selectFreeJob(tx: Tx) {
  const ofState = sql`from state_versions s where s.id = w.current_state_version_id`
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
    .select('w.ssh_key_id')
    .select(sql<Buffer | null>`(select k.value from ssh_keys k where k.id = w.ssh_key_id)`.as('ssh_key'))
    .select(newestProductOf(sql.ref('w.id')).as('newest_product'))
    .select(isPoolOpenTo('pool', { workspaceId: sql.ref('w.id'), projectId: sql.ref('w.project_id') }).as('is_served'))
    .select([
      sql<number | null>`(select s.size ${ofState})`.as('state_bytes'),
      sql<string[] | null>`(select array(select jsonb_object_keys(s.providers)) ${ofState}
        and jsonb_typeof(s.providers) = 'object')`.as('state_providers'),
    ])
    .where(sql<boolean>`j.id = candidate.id`)
    .where('j.status', '=', sql.lit('queued' as const))
    .where(hasRoom('o'))
    .where(hasRoom('pool'))
    .forNoKeyUpdate(['j', 'w'])
    .skipLocked()
}

/** Whether the limits still leave room for a job, checked by one claim at a time; false if they are locked. */
export async function lockLimits(tx: Tx, job: QueuedJob): Promise<boolean> {
  if (job.run_concurrency === null && job.max_concurrent_jobs === null) return true
  const limits = sql`from organizations o join agent_pools pool on pool.id = ${job.agent_pool_id}
    where o.id = ${job.organization_id}`
  const { rows: locked } = await sql`select o.id ${limits} for no key update skip locked`.execute(tx)
  if (locked.length === 0) return false
  // A separate statement, to see the commit of the last lock holder.
  const { rows } = await sql`select ${limits} and ${hasRoom('o')} and ${hasRoom('pool')}`.execute(tx)
  return rows.length > 0
}
