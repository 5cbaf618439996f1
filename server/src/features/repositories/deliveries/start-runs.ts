import { SERVICE_PROVIDERS, type ServiceProvider } from '@groundstate/contract/oauth-clients'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { insertConfigurationVersion } from '../../runs/configuration-versions/service.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { type RepositoryRow, insertIngressAttributes } from '../git/store.ts'
import type { Decision } from './decide.ts'
import type { ingressRow } from './ingress.ts'
import { cancelOlderPlans } from './stale-plans.ts'
import * as store from './store.ts'

export type Decided = Decision & { workspaceId: string }

export function decisionRow({ workspaceId, decision, reason, detail }: Decided) {
  return { workspace_id: workspaceId, decision, reason, detail }
}

/** Number of workspaces in which runs are created at the same time. */
const CONCURRENT_RUNS = 8

type Happened = {
  delivery: Pick<store.DeliveryRow, 'id' | 'source'>
  event: HostEvent
  repository: RepositoryRow
  ingress: NonNullable<ReturnType<typeof ingressRow>>
}

/** Creates a run in each of the workspaces, which waits for the archive of the commit. */
export async function startRuns(ctx: Ctx, happened: Happened, decided: readonly Decided[]) {
  const { repository, ingress } = happened
  await insertIngressAttributes(ctx.db, ingress)
  const ids = decided.map(({ workspaceId }) => workspaceId)
  const workspaces = await listReadableWorkspaces(ctx, ids)
  const byId = new Map(workspaces.map((workspace) => [workspace.id, workspace]))
  const commit = { id: ingress.id, sha: ingress.commit_sha, message: ingress.commit_message }
  const { source } = SERVICE_PROVIDERS[repository.service_provider]
  const limit = concurrencyLimit(CONCURRENT_RUNS)
  await Promise.all(
    decided.map(async (decision) => {
      const workspace = byId.get(decision.workspaceId)
      const start = { ...decision, happened, commit, source }
      if (workspace) await limit(async () => startRun(ctx, workspace, start))
    }),
  )
}

type Start = Decided & {
  happened: Happened
  commit: { id: string; sha: string; message: string }
  source: (typeof SERVICE_PROVIDERS)[ServiceProvider]['source']
}

/** Creates the run of a decision, unless the commit has one in the workspace. What prevents a run becomes the decision. */
async function startRun(ctx: Ctx, workspace: Workspace, start: Start) {
  const { happened, commit } = start
  const deliveryId = happened.delivery.id
  try {
    await transact(ctx, async (ctx) => {
      const key = {
        workspaceId: workspace.id,
        sha: commit.sha,
        kind: start.decision === 'plan' ? 'plan' : 'run',
      } as const
      const isFirst = await store.reserveCommit(ctx.db, key)
      const runId = isFirst ? await insertCommitRun(ctx, workspace, start) : undefined
      if (runId !== undefined) {
        await store.setCommitRun(ctx.db, key, runId)
        await cancelOlderPlans(ctx, happened, { id: runId, workspaceId: workspace.id })
      }
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
