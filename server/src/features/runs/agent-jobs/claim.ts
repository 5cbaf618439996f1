import type { AgentJob } from '@groundstate/contract/agent'
import { ZodError } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { createClaims } from '../../../claims/claims.ts'
import { isDatabaseFailure, transact } from '../../../db/db.ts'
import { pipeline } from '../../../db/pipeline.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import { openSshKey } from '../../vcs/ssh-keys/service.ts'
import { type ResolveVariables, readRunVariables } from '../../workspaces/variable-sets/effective-variables.ts'
import { unreadableReason } from '../identity-keys/signing.ts'
import { applyChange } from '../runs/advance.ts'
import { announceAgentOf } from '../runs/audit.ts'
import type { LockedJob, LockedRun, RunKey } from '../runs/locked-run-store.ts'
import { lockedRunOf, readLockedRun, runLock } from '../runs/locked-run-store.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import type { NewRunEvent } from '../runs/run-event-store.ts'
import { timeLimit } from '../workload-identity/token.ts'
import { agentJobDocument } from './agent-job.ts'
import type { ClaimRequest, JobKind, QueuedJob, SkippedEngine } from './claim-store.ts'
import * as queue from './claim-store.ts'
import { type AgentEngines, type Product, type RequestedEngine } from './engine-choice.ts'
import { isBetterMatch, matchOf, productFor } from './engine-choice.ts'
import { identityOf } from './identity.ts'
import { insertNotice } from './log-store.ts'
import { requeueJob } from './service.ts'
import * as store from './store.ts'

/** Time for which an apply is reserved for the agent of its plan, in ms: that agent has the directory and the providers. */
const PREFERENCE_MS = 1000
/** Lifetime of the engine's token after the last interrupt, in ms. */
const TOKEN_MARGIN_MS = 600_000

type JobRun = LockedRun & { job: LockedJob }

/**
 * Leases the next job of the pool to the agent and starts its phase, in one transaction. Waits for no lock: jobs that are locked or
 * blocked by a limit are left for the next claim. Returns undefined if there is no job, and `exited` if the agent exited while its claim
 * waited.
 */
async function claimJob(ctx: Ctx, request: ClaimRequest): Promise<AgentJob | 'exited' | undefined> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const match = await lockMatchingJob(ctx, request)
    if (match === undefined || match === 'exited') return match
    const { queued, locked, requested, variables } = match
    if (!queued.is_served) {
      const why = `the agent pool ${queued.pool_name} no longer serves the workspace ${queued.workspace_name}`
      await failUnstarted(ctx, locked, `${why}: allow the workspace in the scope of the pool, and start a new run`)
      return undefined
    }

    const product = productFor(requested, store.enginesOf(request.agent))
    const made = await makeJob(ctx, locked, { queued, product, variables })
    if (!made) return undefined
    await lease(ctx, locked, { request, ...made })
    return made.job
  })
}

/** Maximum engines skipped per claim: each takes another statement. */
const MAX_SKIPPED = 50

type ApplyKey = RunKey & { workspaceId: string; organizationId: string; agentId: string }

/** Leases an apply to the agent of its plan, in the transaction that ends the plan; undefined if it stays queued. */
export async function claimApply(ctx: TransactionCtx, run: ApplyKey): Promise<AgentJob | undefined> {
  const variables = await readRunVariables(ctx, run)
  const [agents, jobs, workspaces, runs] = await pipeline(ctx.db, [
    ...queue.applyLock(ctx.db, { runId: run.id, agentId: run.agentId }),
    ...runLock(ctx.db, run),
  ])
  const [[agent], [queued], locked] = [agents, jobs, lockedRunOf(workspaces, runs)]
  if (!agent || !queued?.is_served || !hasJob(locked)) return undefined
  if (!(await queue.lockLimits(ctx.db, queued))) return undefined
  const product = productFor(requestedEngine(ctx, queued, locked), store.enginesOf(agent))
  const made = await makeJob(ctx, locked, { queued, product, variables })
  if (!made) return undefined
  await lease(ctx, locked, { request: { agent, sendsReceipt: true }, ...made })
  return made.job
}

type MatchingJob = { queued: QueuedJob; locked: JobRun; requested: RequestedEngine; variables: ResolveVariables }
type Match = MatchingJob | 'exited' | undefined

/** Locks the next job for the agent, skipping jobs for which another agent has a better engine. */
async function lockMatchingJob(ctx: TransactionCtx, request: ClaimRequest): Promise<Match> {
  const preferredUntil = new Date(ctx.now().getTime() - PREFERENCE_MS)
  const skipped: SkippedEngine[] = []
  const others = otherEngines(ctx, request.agent)
  while (skipped.length < MAX_SKIPPED) {
    const queued = await queue.lockNextJob(ctx.db, request, { preferredUntil, skipped })
    if (queued?.has_agent === false) return 'exited'
    if (!queued || !(await queue.lockLimits(ctx.db, queued))) return undefined
    const variables = await readRunVariables(ctx, { workspaceId: queued.id, organizationId: queued.organization_id })
    const locked = await readLockedRun(ctx.db, queued, queued.run_id)
    if (!hasJob(locked)) return undefined
    const { kind } = locked.job
    const requested = requestedEngine(ctx, queued, locked)
    const match = matchOf(requested, store.enginesOf(request.agent))
    const hasBetter = async () => (await others(kind)).some((other) => isBetterMatch(matchOf(requested, other), match))
    if (match === 'preferred' || !(await hasBetter())) return { queued, locked, requested, variables }
    skipped.push({ ...requested, kind, newestProduct: queued.newest_product })
  }
  return undefined
}

/** Reads the engines of the pool's other agents, lazily and once per kind of job. */
function otherEngines(ctx: TransactionCtx, agent: ClaimRequest['agent']) {
  const now = ctx.now()
  const reads = new Map<JobKind, Promise<AgentEngines[]>>()
  return async (kind: JobKind) => {
    const read = reads.get(kind) ?? queue.listOtherEngines(ctx.db, { agent, kind, since: onlineSince(now), now })
    reads.set(kind, read)
    return read
  }
}

/** The engine of a job. A workspace without a setting keeps its last engine; an apply uses that of its plan. */
function requestedEngine({ config }: Pick<Ctx, 'config'>, queued: QueuedJob, { run, job }: JobRun): RequestedEngine {
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

type JobParts = { queued: QueuedJob; product: Product; variables: ResolveVariables }

/**
 * The job document for the agent, and what it lacks because the run withholds it. If it cannot be created, ends the run and returns undefined: in the queue, it would block the jobs
 * behind it. Database errors are not the run's fault and are thrown; one that is not recognised has aborted the transaction anyway.
 */
async function makeJob(ctx: TransactionCtx, locked: JobRun, { queued, product, variables }: JobParts) {
  const { run } = locked
  try {
    const tokens = { token: newTokenText(), engineToken: newTokenText() }
    const resolved = await variables(run.variables as { key: string; value: string }[])
    const [withheld, given] = run.withholds_secrets ? splitSecrets(resolved) : [[], resolved]
    const sshKey = run.withholds_secrets ? undefined : openSshKey(ctx, { id: queued.ssh_key_id, value: queued.ssh_key })
    const { identityTokens, withheld: services } = await identityOf(ctx, { queued, locked, variables: resolved })
    const job = agentJobDocument(ctx, { queued, locked, product, ...tokens, variables: given, identityTokens, sshKey })
    return { job, withheld: { keys: withheld.map(({ key }) => key), services } }
  } catch (error) {
    if (isDatabaseFailure(error)) throw error
    ctx.log.error({ err: error, run: run.id }, 'cannot create the job of a run')
    await failUnstarted(ctx, locked, reasonOf(error))
    return undefined
  }
}

/** Why a job cannot be created. Unexpected errors are only logged, since they may contain values. */
function reasonOf(error: unknown) {
  const unreadable = unreadableReason(error)
  if (unreadable !== undefined) return unreadable
  const [issue] = error instanceof ZodError ? error.issues : []
  const cause = issue ? `${issue.path.join('.')}: ${issue.message}` : 'see the log of the server'
  return `the server cannot create the job for an agent: ${cause}`
}

async function failUnstarted(ctx: TransactionCtx, locked: JobRun, error: string) {
  await insertNotice(ctx.db, locked[locked.job.kind].id, error)
  await applyChange(ctx, locked, { job: 'running' })
  const started = await readLockedRun(ctx.db, locked.workspace, locked.run.id)
  if (started) await applyChange(ctx, started, { job: 'errored', run: { error } })
}

type Lease = { request: Pick<ClaimRequest, 'agent' | 'sendsReceipt'>; job: AgentJob; withheld: Withheld }

async function lease(ctx: TransactionCtx, locked: JobRun, { request, job: claimed, withheld }: Lease) {
  const { run, workspace, job } = locked
  const { id: jobId, token, engineToken, engine, organizationName, workspaceName } = claimed
  const now = ctx.now()
  announceAgentOf(ctx, run, request.agent.id)
  const tokenTtlMs = timeLimit(ctx.config, job.kind) + ctx.config.cancelGrace + TOKEN_MARGIN_MS
  await applyChange(ctx, locked, {
    job: 'running',
    [job.kind]: { job_id: jobId },
    events: job.attempt === 1 ? withheldEvents(withheld) : [],
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
        leaseMs: store.leaseLength(ctx.config, job.kind),
        needsAck: request.sendsReceipt,
        // An earlier job may have executed the phase, and its log was already read.
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
        expires_at: new Date(now.getTime() + tokenTtlMs),
      }),
    ],
  })
}

function splitSecrets<Variable extends { sensitive: boolean }>(variables: readonly Variable[]) {
  return [variables.filter(({ sensitive }) => sensitive), variables.filter(({ sensitive }) => !sensitive)] as const
}

/** The names of variables and of the services for which the run gets no identity token. */
type Withheld = Record<'keys' | 'services', readonly string[]>

/** Names that without which a plan may fail. */
function withheldEvents({ keys, services }: Withheld): NewRunEvent[] {
  const parts = [
    ...(keys.length === 0
      ? []
      : [`${keys.length} sensitive ${keys.length === 1 ? 'variable' : 'variables'} (${keys.join(', ')})`]),
    ...(services.length === 0 ? [] : [`an identity (${services.join(', ')})`]),
  ]
  if (parts.length === 0) return []
  const description = `planned without ${parts.join(' and without ')}, since the pull request comes from a fork`
  return [{ action: 'secrets_withheld', description }]
}

const claims = createClaims<ClaimRequest, AgentJob>({
  name: 'job',
  topic: poolTopic,
  poolsWithItems: (_, poolIds) => queue.poolsWithJobs(poolIds),
  claim: claimJob,
  requeue: requeueJob,
  kindOf: ({ accepts, agent }) =>
    [...accepts.toSorted(), agent.downloads_engines, JSON.stringify(agent.engines)].join(' '),
  listPreferredAgents: async ({ db }, poolId, agentIds) => queue.listPreferredAgents(db, poolId, agentIds),
})

export const waitForJob = claims.wait

export const endClaims = claims.end

/** Wakes the waiting claims of the organization's pools on commit, after a change of its limits. */
export async function wakePools(ctx: TransactionCtx, organizationId: string) {
  ctx.signals.publish(ctx.db, await queue.listPoolTopics(ctx.db, organizationId))
}
