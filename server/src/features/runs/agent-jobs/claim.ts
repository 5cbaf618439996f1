import type { AgentJob } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { SealError } from '../../../secrets/secrets.ts'
import { resolveRunVariables } from '../../workspaces/variables/resolve.ts'
import { applyChange } from '../runs/advance.ts'
import { readLockedRun } from '../runs/locked-run-store.ts'
import type { LockedJob, LockedRun } from '../runs/locked-run.ts'
import { agentJobDocument, timeLimit } from './agent-job.ts'
import { lockLimits, lockNextJob, type Wish } from './claim-store.ts'
import { leaseLength } from './lease.ts'
import { insertNotice } from './log-store.ts'
import * as store from './store.ts'

/** An apply is reserved this long, in ms, for the agent that made the plan: it has the folder, the providers and the lock. */
const PREFERENCE_MS = 1000
/** The engine's token outlives the last interrupt by this long, in ms. */
const TOKEN_SLACK_MS = 600_000

type JobRun = LockedRun & { job: LockedJob }

/**
 * Leases the next job of the agent's pool to the agent, and starts its phase, in one transaction. It waits for no lock: a job
 * whose workspace is locked at this moment is left for the next claim, and so is one that a
 * limit holds back. Returns undefined when there is none.
 */
export async function claimJob(ctx: Ctx, wish: Wish): Promise<AgentJob | undefined> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const preferredUntil = new Date(ctx.now().getTime() - PREFERENCE_MS)
    const queued = await lockNextJob(ctx.db, wish, preferredUntil)
    if (!queued || !(await lockLimits(ctx.db, queued))) return undefined
    const locked = await readLockedRun(ctx.db, queued, queued.run_id)
    if (!hasJob(locked)) return undefined

    const token = newTokenText()
    const engineToken = newTokenText()
    const variables = await openVariables(ctx, locked, queued.project_id)
    if (!variables) return undefined
    await lease(ctx, locked, { agent: wish.agent, token, engineToken, jobId: queued.job_id })
    return agentJobDocument(ctx, { queued, locked, token, engineToken, variables })
  })
}

function hasJob(locked: LockedRun | undefined): locked is JobRun {
  return locked?.job !== undefined
}

/**
 * The variables of a run in the clear. Undefined when one cannot be opened, which ends the run: in the queue, every agent
 * would claim it first, and it would hold up the jobs behind it.
 */
async function openVariables(ctx: TransactionCtx, locked: JobRun, projectId: string) {
  const { run } = locked
  try {
    return await resolveRunVariables(ctx, {
      workspaceId: run.workspace_id,
      projectId,
      organizationId: run.organization_id,
      runVariables: run.variables as { key: string; value: string }[],
    })
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    ctx.log.error({ err: error, run: run.id }, 'a run can not be given its variables')
    await failUnstarted(ctx, locked, `a sensitive value can't be opened: ${error.message}. Set it again`)
    return undefined
  }
}

async function failUnstarted(ctx: TransactionCtx, locked: JobRun, error: string) {
  await insertNotice(ctx.db, locked[locked.job.kind].id, error)
  await applyChange(ctx, locked, { job: 'running' })
  const started = await readLockedRun(ctx.db, locked.workspace, locked.run.id)
  if (started) await applyChange(ctx, started, { job: 'errored', run: { error } })
}

type Lease = { agent: store.ClaimingAgent; token: string; engineToken: string; jobId: string }

async function lease(ctx: TransactionCtx, locked: JobRun, { agent, token, engineToken, jobId }: Lease) {
  const { run, workspace, job } = locked
  const now = ctx.now()
  const lifetime = timeLimit(ctx.config, job.kind) + ctx.config.cancelGrace + TOKEN_SLACK_MS
  await applyChange(ctx, locked, {
    job: 'running',
    [job.kind]: { job_id: jobId },
    ...(job.kind === 'plan' && { run: { base_state_version_id: workspace.current_state_version_id } }),
    writes: [
      store.leaseUpdate(ctx.db, {
        jobId,
        agent,
        tokenHash: tokenHash(token),
        now,
        leaseMs: leaseLength(ctx.config, job.kind),
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
