import type { AgentJob } from '@groundstate/contract/agent'
import { ZodError } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { createClaims } from '../../../claims/claims.ts'
import { isDatabaseFailure, transact } from '../../../db/db.ts'
import { pipeline } from '../../../db/pipeline.ts'
import { SealError } from '../../../secrets/secrets.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import { type ResolveVariables, readRunVariables } from '../../workspaces/variable-sets/effective-variables.ts'
import { applyChange } from '../runs/advance.ts'
import { announceAgentOf } from '../runs/audit.ts'
import {
  type LockedJob,
  type LockedRun,
  type RunKey,
  lockedRunOf,
  readLockedRun,
  runLock,
} from '../runs/locked-run-store.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import { agentJobDocument, timeLimit } from './agent-job.ts'
import {
  type JobKind,
  type SkippedEngine,
  type QueuedJob,
  type ClaimRequest,
  applyLock,
  listOtherHolders,
  listPoolTopics,
  listPreferredAgents,
  lockLimits,
  lockNextJob,
  poolsWithJobs,
} from './claim-store.ts'
import {
  type EngineHolder,
  type Product,
  type WantedEngine,
  matchOf,
  isBetterMatch,
  productFor,
} from './engine-choice.ts'
import { insertNotice } from './log-store.ts'
import { requeueJob } from './service.ts'
import { leaseLength } from './store.ts'
import * as store from './store.ts'

/** How long an apply is reserved for the agent of its plan, in ms: that agent has the directory and the providers. */
const PREFERENCE_MS = 1000
/** Lifetime of the engine's token after the last interrupt, in ms. */
const TOKEN_MARGIN_MS = 600_000

type JobRun = LockedRun & { job: LockedJob }

/**
 * Leases the next job of the agent's pool to the agent, and starts its phase, in one transaction. It waits for no lock: a job
 * whose workspace is locked at this moment is left for the next claim, and so is one that a
 * limit holds back. Returns undefined when there is none, and `exited` when there is one but the agent has exited meanwhile.
 */
async function claimJob(ctx: Ctx, request: ClaimRequest): Promise<AgentJob | 'exited' | undefined> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const found = await lockMatchingJob(ctx, request)
    if (found === undefined || found === 'exited') return found
    const { queued, locked, wanted, variables } = found
    if (!queued.is_served) {
      const why = `the agent pool ${queued.pool_name} serves the workspace ${queued.workspace_name} no more`
      await failUnstarted(ctx, locked, `${why}: allow the workspace in the scope of the pool, and start a new run`)
      return undefined
    }

    const product = productFor(wanted, store.holderOf(request.agent))
    const job = await makeJob(ctx, locked, { queued, product, variables })
    if (!job) return undefined
    await lease(ctx, locked, { request, job })
    return job
  })
}

/** Maximum engines skipped per claim: each takes another statement. */
const MAX_SKIPPED = 50

/**
 * Leases the apply of a run to the agent that has just made its plan, in the transaction that ends the plan: the apply takes the
 * place of its plan, and is queued for others only if it can't. The agent says that it received the job before it begins. Returns
 * undefined when the apply is left in the queue, or is not there.
 */
export async function claimApply(
  ctx: TransactionCtx,
  run: RunKey & { workspaceId: string; organizationId: string; agentId: string },
): Promise<AgentJob | undefined> {
  const variables = await readRunVariables(ctx, run)
  const [agents, jobs, workspaces, runs] = await pipeline(ctx.db, [
    ...applyLock(ctx.db, { runId: run.id, agentId: run.agentId }),
    ...runLock(ctx.db, run),
  ])
  const [[agent], [queued], locked] = [agents, jobs, lockedRunOf(workspaces, runs)]
  if (!agent || !queued?.is_served || !hasJob(locked)) return undefined
  if (!(await lockLimits(ctx.db, queued))) return undefined
  // It has the engine of its plan.
  const product = productFor(wantedEngine(ctx, queued, locked), store.holderOf(agent))
  const job = await makeJob(ctx, locked, { queued, product, variables })
  if (!job) return undefined
  await lease(ctx, locked, { request: { agent, sendsReceipt: true }, job })
  return job
}

type FoundJob = { queued: QueuedJob; locked: JobRun; wanted: WantedEngine; variables: ResolveVariables }

/** Locks the next job for the agent, skipping jobs for which another agent has a better engine. */
async function lockMatchingJob(ctx: TransactionCtx, request: ClaimRequest): Promise<FoundJob | 'exited' | undefined> {
  const preferredUntil = new Date(ctx.now().getTime() - PREFERENCE_MS)
  const left: SkippedEngine[] = []
  const others = otherHolders(ctx, request.agent)
  while (left.length < MAX_SKIPPED) {
    const queued = await lockNextJob(ctx.db, request, { preferredUntil, left })
    if (queued?.has_agent === false) return 'exited'
    if (!queued || !(await lockLimits(ctx.db, queued))) return undefined
    const variables = await readRunVariables(ctx, { workspaceId: queued.id, organizationId: queued.organization_id })
    const locked = await readLockedRun(ctx.db, queued, queued.run_id)
    if (!hasJob(locked)) return undefined
    const { kind } = locked.job
    const wanted = wantedEngine(ctx, queued, locked)
    const fit = matchOf(wanted, store.holderOf(request.agent))
    const isForOthers =
      fit !== 'preferred' && (await others(kind)).some((other) => isBetterMatch(matchOf(wanted, other), fit))
    if (!isForOthers) return { queued, locked, wanted, variables }
    left.push({ ...wanted, kind, newestProduct: queued.newest_product })
  }
  return undefined
}

/** Reads the engines of the pool's other agents, lazily and once per kind of job. */
function otherHolders(ctx: TransactionCtx, agent: ClaimRequest['agent']) {
  const now = ctx.now()
  const known = new Map<JobKind, Promise<EngineHolder[]>>()
  return async (kind: JobKind) => {
    const found = known.get(kind) ?? listOtherHolders(ctx.db, { agent, kind, since: onlineSince(now), now })
    known.set(kind, found)
    return found
  }
}

/** The engine that the job requests. A workspace without a setting keeps its last engine; an apply uses that of its plan. */
function wantedEngine({ config }: Pick<Ctx, 'config'>, queued: QueuedJob, { run, job }: JobRun): WantedEngine {
  return {
    product: run.engine_is_open && job.kind === 'plan' ? null : run.engine_product,
    preferred: queued.newest_product ?? config.engine,
    version: run.engine_version,
    required: run.engine_version_required,
  }
}

function hasJob(locked: LockedRun | undefined): locked is JobRun {
  return locked?.job !== undefined
}

/**
 * The job as the agent receives it. Undefined when it can't be created, which ends the run: in the queue, every agent would claim
 * it first, and it would block the jobs behind it. A database error says nothing about the run and is thrown. One
 * not recognized as such has aborted the transaction, which then can't end the run either.
 */
async function makeJob(
  ctx: TransactionCtx,
  locked: JobRun,
  { queued, product, variables }: { queued: QueuedJob; product: Product; variables: ResolveVariables },
): Promise<AgentJob | undefined> {
  const { run } = locked
  try {
    const tokens = { token: newTokenText(), engineToken: newTokenText() }
    const resolved = await variables(run.variables as { key: string; value: string }[])
    return agentJobDocument(ctx, { queued, locked, product, ...tokens, variables: resolved })
  } catch (error) {
    if (isDatabaseFailure(error)) throw error
    ctx.log.error({ err: error, run: run.id }, 'cannot create the job of a run')
    await failUnstarted(ctx, locked, reasonOf(error))
    return undefined
  }
}

/** Why a job can't be created. Unexpected errors are only logged: they may quote a value. */
function reasonOf(error: unknown) {
  if (error instanceof SealError) return `a sensitive value can't be opened: ${error.message}. Set it again`
  const [issue] = error instanceof ZodError ? error.issues : []
  const what = issue ? `${issue.path.join('.')}: ${issue.message}` : 'the log of the server has the error'
  return `the server can't make the job for an agent: ${what}`
}

async function failUnstarted(ctx: TransactionCtx, locked: JobRun, error: string) {
  await insertNotice(ctx.db, locked[locked.job.kind].id, error)
  await applyChange(ctx, locked, { job: 'running' })
  const started = await readLockedRun(ctx.db, locked.workspace, locked.run.id)
  if (started) await applyChange(ctx, started, { job: 'errored', run: { error } })
}

type Lease = { request: Pick<ClaimRequest, 'agent' | 'sendsReceipt'>; job: AgentJob }

async function lease(ctx: TransactionCtx, locked: JobRun, { request, job: claimed }: Lease) {
  const { run, workspace, job } = locked
  const { id: jobId, token, engineToken, engine, organizationName, workspaceName } = claimed
  const now = ctx.now()
  announceAgentOf(ctx, run, request.agent.id)
  const lifetime = timeLimit(ctx.config, job.kind) + ctx.config.cancelGrace + TOKEN_MARGIN_MS
  await applyChange(ctx, locked, {
    job: 'running',
    [job.kind]: { job_id: jobId },
    run: {
      engine_organization_name: organizationName,
      engine_workspace_name: workspaceName,
      ...(job.kind === 'plan' && {
        base_state_version_id: workspace.current_state_version_id,
        engine_product: engine.product,
      }),
    },
    writes: [
      store.leaseUpdate(ctx.db, {
        jobId,
        agent: request.agent,
        tokenHash: tokenHash(token),
        now,
        leaseMs: leaseLength(ctx.config, job.kind),
        hasReceipt: request.sendsReceipt,
        // Another job may have had the phase before, and readers have seen its log.
        phaseId: locked[job.kind].id,
      }),
      store.tokenInsert(ctx.db, {
        id: ctx.newId('at'),
        kind: 'run',
        hash: tokenHash(engineToken),
        organization_id: run.organization_id,
        workspace_id: run.workspace_id,
        run_id: run.id,
        description: `${job.kind} of ${run.id}`,
        created_at: now,
        last_used_at: now,
        expires_at: new Date(now.getTime() + lifetime),
      }),
    ],
  })
}

const claims = createClaims<ClaimRequest, AgentJob>({
  name: 'job',
  topic: poolTopic,
  poolsWithItems: (_, poolIds) => poolsWithJobs(poolIds),
  claim: claimJob,
  requeue: requeueJob,
  kindOf: ({ accepts, agent }) =>
    [...accepts.toSorted(), agent.downloads_engines, JSON.stringify(agent.engines)].join(' '),
  listPreferredAgents: async ({ db }, poolId, agentIds) => listPreferredAgents(db, poolId, agentIds),
})

/** Waits for the next job of an agent; see `createClaims`. */
export const waitForJob = claims.wait

/** Ends the waiting claims of an agent that takes no more jobs. */
export const endClaims = claims.end

/** Wakes the claims of the organization's pools on commit: one of its limits may have blocked jobs. */
export async function wakePools(ctx: TransactionCtx, organizationId: string) {
  ctx.signals.publish(ctx.db, await listPoolTopics(ctx.db, organizationId))
}
