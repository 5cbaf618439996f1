import { type AgentJob, agentJob } from '@groundstate/contract/agent'
import { type Selectable, sql } from 'kysely'
import type { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { LOCKED_WORKSPACE_COLUMNS, readLockedRun } from '../runs/locked-run-store.ts'
import { applyChange } from '../runs/advance.ts'
import { SealError } from '../../../secrets/secrets.ts'
import { insertNotice } from './logs.ts'
import { resolveRunVariables } from '../../workspaces/variables/resolve.ts'
import type { LockedRun, RunRow } from '../runs/locked-run.ts'

export type ClaimingAgent = Pick<Selectable<Schema['agents']>, 'id' | 'name' | 'agent_pool_id'>

/** The lease ends when no heartbeat came for this long, in ms. */
export const LEASE_MS = 30_000
/** For so long, in ms, an apply is kept for the agent that made the plan: it has the folder, the providers and the lock. */
const PREFERENCE_MS = 1000
/** The engine's token outlives the last interrupt by this long, in ms. */
const TOKEN_SLACK_MS = 600_000

/**
 * Leases the next job of the agent's pool to it, and starts its phase, in one transaction. It waits for no lock: a job
 * whose workspace is being changed at this moment is left for the next look. Undefined when there is none.
 */
export async function claimJob(
  outer: Ctx,
  agent: ClaimingAgent,
  warmRunIds: readonly string[],
): Promise<AgentJob | undefined> {
  return transact({ ...outer, actor: SYSTEM }, async (ctx) => {
    const picked = await pickJob(ctx, agent, warmRunIds)
    const held = picked && (await readLockedRun(ctx.db, picked, picked.run_id))
    if (!picked || !held?.job) return undefined

    const { run } = held
    const token = newTokenText()
    const variables = await openVariables(ctx, held, picked.project_id)
    if (!variables) return undefined
    await lease(ctx, held, { agent, token, jobId: picked.job_id, attempt: held.job.attempt })
    return agentJob.parse({
      id: picked.job_id,
      kind: held.job.kind,
      ...(held.job.kind === 'apply' && held.plan.job_id !== null && { planJobId: held.plan.job_id }),
      token,
      leaseMs: LEASE_MS,
      runId: run.id,
      ...pageUrl(ctx, picked, run),
      organizationName: picked.organization_name,
      hostNames: hostNames(ctx.baseUrl),
      projectName: picked.project_name,
      workspaceId: run.workspace_id,
      workspaceName: picked.workspace_name,
      configurationVersionId: run.configuration_version_id,
      stateBytes: picked.state_bytes ?? 0,
      workingDirectory: run.working_directory,
      engine: {
        product: run.engine_product,
        version: run.engine_version,
        required: run.engine_version_required,
      },
      structuredOutput: run.structured_output,
      options: {
        isDestroy: run.is_destroy,
        refresh: run.refresh,
        refreshOnly: run.refresh_only,
        targetAddrs: run.target_addrs,
        replaceAddrs: run.replace_addrs,
        allowConfigGeneration: run.allow_config_generation,
        debug: run.debugging_mode,
      },
      variables,
      timeLimitMs: timeLimit(ctx, held.job.kind),
      graceMs: ctx.config.cancelGrace,
    } satisfies z.input<typeof agentJob>)
  })
}

/** Whether any job of the pool waits: a glance that spares an empty queue the transaction. */
export async function hasQueuedJobs(ctx: Ctx, poolId: string) {
  const row = await ctx.db
    .selectFrom('agent_jobs')
    .select('id')
    .where('agent_pool_id', '=', poolId)
    .where('status', '=', sql.lit('queued' as const))
    .limit(sql.lit(1))
    .executeTakeFirst()
  return row !== undefined
}

/** The command line prints an https address, made of the name that a CLI configuration gives a server of plain http. */
function pageUrl(
  { baseUrl }: Ctx,
  { organization_name, workspace_name }: { organization_name: string; workspace_name: string },
  run: Pick<RunRow, 'id' | 'source'>,
) {
  if (run.source !== 'tfe-api' || !baseUrl.startsWith('http:')) return {}
  return { pageUrl: `${baseUrl}/app/${organization_name}/${workspace_name}/runs/${run.id}` }
}

function timeLimit(ctx: Ctx, kind: 'plan' | 'apply') {
  return kind === 'plan' ? ctx.config.planTimeout : ctx.config.applyTimeout
}

async function pickJob(ctx: TransactionCtx, agent: ClaimingAgent, warmRunIds: readonly string[]) {
  return ctx.db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .select(LOCKED_WORKSPACE_COLUMNS.map((column) => `w.${column}` as const))
    .select(['j.id as job_id', 'j.run_id', 'w.name as workspace_name', 'w.project_id'])
    .select(['o.name as organization_name', 'p.name as project_name'])
    .select((eb) =>
      eb
        .selectFrom('state_versions as s')
        .whereRef('s.id', '=', 'w.current_state_version_id')
        .select('s.size')
        .as('state_bytes'),
    )
    .where('j.agent_pool_id', '=', agent.agent_pool_id)
    .where('j.status', '=', sql.lit('queued' as const))
    .where((eb) =>
      eb.or([
        eb('j.preferred_agent_id', 'is', null),
        eb('j.preferred_agent_id', '=', agent.id),
        eb('j.queued_at', '<', new Date(ctx.now().getTime() - PREFERENCE_MS)),
      ]),
    )
    .orderBy(sql`j.run_id = any(${warmRunIds})`, 'desc')
    .orderBy('j.seq')
    .limit(sql.lit(1))
    .forNoKeyUpdate(['j', 'w'])
    .skipLocked()
    .executeTakeFirst()
}

/**
 * The variables of a run in the clear; undefined when one can't be opened, which ends the run: left in the queue, it would
 * be found first by every agent, and hold up all that stand behind it.
 */
async function openVariables(ctx: TransactionCtx, held: LockedRun, projectId: string) {
  const { run } = held
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
    await failUnstarted(ctx, held, `a sensitive value can't be opened: ${error.message}. Set it again`)
    return undefined
  }
}

async function failUnstarted(ctx: TransactionCtx, held: LockedRun, error: string) {
  await insertNotice(ctx, held[held.job?.kind ?? 'plan'].id, error)
  await applyChange(ctx, held, { job: 'running' })
  const started = await readLockedRun(ctx.db, held.workspace, held.run.id)
  if (started) await applyChange(ctx, started, { job: 'errored', run: { error } })
}

type Lease = { agent: ClaimingAgent; token: string; jobId: string; attempt: number }

async function lease(ctx: TransactionCtx, held: LockedRun, { agent, token, jobId, attempt }: Lease) {
  const { run, workspace } = held
  const now = ctx.now()
  const kind = held.job?.kind ?? 'plan'
  const phaseId = held[kind].id
  const hash = tokenHash(token)
  const lifetime = timeLimit(ctx, kind) + ctx.config.cancelGrace + TOKEN_SLACK_MS
  await applyChange(ctx, held, {
    job: 'running',
    [kind]: { job_id: jobId },
    ...(kind === 'plan' && { run: { base_state_version_id: workspace.current_state_version_id } }),
    writes: [
      ctx.db
        .updateTable('agent_jobs')
        .set({
          status: 'running',
          agent_id: agent.id,
          agent_name: agent.name,
          token_hash: hash,
          leased_at: now,
          lease_expires_at: new Date(now.getTime() + LEASE_MS),
          // A second attempt writes on where the first one stopped: readers have seen what stands before.
          ...(attempt > 1 && {
            log_base: sql<number>`coalesce((select start_offset + octet_length(data) from log_chunks
              where phase_id = ${phaseId} order by start_offset desc limit 1), 0)`,
          }),
        })
        .where('id', '=', jobId),
      ctx.db.insertInto('tokens').values({
        id: ctx.newId('at'),
        kind: 'run',
        hash,
        organization_id: run.organization_id,
        workspace_id: run.workspace_id,
        run_id: run.id,
        description: `${kind} of ${run.id}`,
        created_at: now,
        last_used_at: now,
        expires_at: new Date(now.getTime() + lifetime),
      }),
    ],
  })
}

/** Its own name, the one that `groundstate cli-config` gives it by default, and the one that the engines' docs have for any. */
function hostNames(baseUrl: string) {
  return [new URL(baseUrl).host, 'groundstate.local', 'localterraform.com']
}
