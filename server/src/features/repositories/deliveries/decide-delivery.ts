import { SERVICE_PROVIDERS, type ServiceProvider } from '@groundstate/contract/oauth-clients'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { insertConfigurationVersion } from '../../runs/configuration-versions/service.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { type Decision, type WorkspaceRule, decide } from './decide.ts'
import { ingressRow } from './ingress.ts'
import * as store from './store.ts'

/** Retried for about an hour: the host may have to be asked for the changed files. */
const decideDeliveryJob = jobKind('vcs-deliveries.decide', z.object({ id: z.string() }), {
  concurrency: 4,
  retryLimit: 14,
})

/** Has a stored delivery decided after the transaction of `ctx`. */
export async function decideLater(ctx: TransactionCtx, id: string) {
  await ctx.jobs.enqueue(ctx.db, decideDeliveryJob, { id }, { singletonKey: id })
}

export const vcsDeliveryJobs = [jobHandler(decideDeliveryJob, async (ctx, { id }) => decideDelivery(ctx, id))]

/** A delivery has been decided in every workspace; raised in the transaction. */
export const deliveryDecided = domainEvent<{ deliveryId: string; repositoryId: string; event: HostEvent }>(
  'vcs-delivery.decided',
)

/** Number of workspaces in which runs are created at the same time. */
const CONCURRENT_RUNS = 8

/**
 * Decides what a delivery does in each workspace of its repository, and creates the runs. Each run is created with its decision, so a job
 * that runs again continues where the earlier one ended.
 */
async function decideDelivery(anyone: Ctx, id: string) {
  const ctx = { ...anyone, actor: SYSTEM }
  const delivery = await store.findDelivery(ctx.db, id)
  if (delivery?.status !== 'pending' || !delivery.event || delivery.repository_id === null) return
  const { event } = delivery
  const repository = await store.findRepository(ctx.db, delivery.repository_id)
  if (!repository) return
  const rules = await store.listRules(ctx.db, { repositoryId: repository.id, deliveryId: id })
  const changedFiles = event.kind === 'push' ? event.changedFiles : null
  const decided = rules.map((row) => {
    const decision = decide(ruleOf(row), { event, changedFiles, plansForks: row.plans_forks })
    return { workspaceId: row.id, ...decision }
  })
  const [skipped, started] = [decided.filter(isSkip), decided.filter((decision) => !isSkip(decision))]
  await store.insertDecisions(ctx.db, id, skipped.map(decisionRow))
  if (started.length > 0) await startRuns(ctx, { delivery, event, repository }, started)
  await transact(ctx, async (ctx) => {
    await store.finishDelivery(ctx.db, id, ctx.now())
    await raise(ctx, deliveryDecided, { deliveryId: id, repositoryId: repository.id, event })
  })
}

type Decided = Decision & { workspaceId: string }

const isSkip = ({ decision }: Decision) => decision === 'skip'

function decisionRow({ workspaceId, decision, reason, detail }: Decided) {
  return { workspace_id: workspaceId, decision, reason, detail }
}

function ruleOf(row: store.RuleRow): WorkspaceRule {
  return {
    branch: row.branch ?? '',
    tagsRegex: row.vcs_tags_regex,
    fileTriggersEnabled: row.file_triggers_enabled,
    triggerPrefixes: row.trigger_prefixes,
    triggerPatterns: row.trigger_patterns,
    workingDirectory: row.working_directory,
    queueAllRuns: row.queue_all_runs,
    speculativeEnabled: row.speculative_enabled,
    hasRuns: row.latest_run_id !== null,
    isLocal: row.mode === 'local',
    isInScope: row.is_in_scope,
  }
}

type Happened = { delivery: store.DeliveryRow; event: HostEvent; repository: store.RepositoryRow }

async function startRuns(ctx: Ctx, happened: Happened, decided: readonly Decided[]) {
  const ingress = ingressRow(ctx, happened)
  if (!ingress) return
  await store.insertIngressAttributes(ctx.db, ingress)
  const workspaces = await listReadableWorkspaces(
    ctx,
    decided.map(({ workspaceId }) => workspaceId),
  )
  const byId = new Map(workspaces.map((workspace) => [workspace.id, workspace]))
  const limit = concurrencyLimit(CONCURRENT_RUNS)
  const commit = { id: ingress.id, sha: ingress.commit_sha, message: ingress.commit_message }
  const source = SERVICE_PROVIDERS[happened.repository.service_provider].source
  await Promise.all(
    decided.map(async (decision) => {
      const workspace = byId.get(decision.workspaceId)
      if (workspace)
        await limit(async () =>
          startRun(ctx, workspace, { ...decision, deliveryId: happened.delivery.id, commit, source }),
        )
    }),
  )
}

type Start = Decided & {
  deliveryId: string
  commit: { id: string; sha: string; message: string }
  source: (typeof SERVICE_PROVIDERS)[ServiceProvider]['source']
}

/** Creates the run of a decision, unless the commit has one in the workspace. What prevents a run becomes the decision. */
async function startRun(ctx: Ctx, workspace: Workspace, start: Start) {
  const { deliveryId, commit } = start
  try {
    await transact(ctx, async (ctx) => {
      const key = {
        workspaceId: workspace.id,
        sha: commit.sha,
        kind: start.decision === 'plan' ? 'plan' : 'run',
      } as const
      const isFirst = await store.reserveCommit(ctx.db, key)
      const runId = isFirst ? await insertCommitRun(ctx, workspace, start) : undefined
      if (runId !== undefined) await store.setCommitRun(ctx.db, key, runId)
      const decision = isFirst ? start : { ...start, ...SAME_COMMIT, detail: commit.sha.slice(0, 7) }
      await store.insertDecisions(ctx.db, deliveryId, [
        { ...decisionRow(decision), ...(runId !== undefined && { run_id: runId }) },
      ])
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'unavailable') throw error
    const failed = { ...start, decision: 'skip', reason: 'failed', detail: error.message } as const
    await store.insertDecisions(ctx.db, deliveryId, [decisionRow(failed)])
  }
}

const SAME_COMMIT = { decision: 'skip', reason: 'same-commit' } as const

async function insertCommitRun(ctx: TransactionCtx, workspace: Workspace, { decision, commit, source }: Start) {
  const version = await insertConfigurationVersion(ctx, workspace, {
    input: { 'auto-queue-runs': true, speculative: decision === 'plan' },
    source,
    status: 'fetching',
    ingressAttributesId: commit.id,
  })
  return insertRun(ctx, workspace, {
    input: { message: commit.message },
    origin: {
      source: 'tfe-configuration-version',
      configurationVersionId: version.id,
      awaitsConfiguration: true,
      createdByUserId: null,
    },
  })
}
