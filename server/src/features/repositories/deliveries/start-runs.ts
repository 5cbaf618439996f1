import { SERVICE_PROVIDERS } from '@groundstate/contract/oauth-clients'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { insertConfigurationVersions } from '../../runs/configuration-versions/service.ts'
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

/** Number of workspaces whose runs are created in one transaction, which locks them, and number of such transactions at the same time. */
const BATCH = 20
const CONCURRENT_BATCHES = 4

type Happened = {
  delivery: Pick<store.DeliveryRow, 'id' | 'source'>
  event: HostEvent
  repository: RepositoryRow
  ingress: NonNullable<ReturnType<typeof ingressRow>>
}

/** A decision for a run, and its workspace. */
type Start = { decided: Decided; workspace: Workspace }

/** Creates a run in each of the workspaces, which waits for the archive of the commit. */
export async function startRuns(ctx: Ctx, happened: Happened, decided: readonly Decided[]) {
  await insertIngressAttributes(ctx.db, happened.ingress)
  const ids = decided.map(({ workspaceId }) => workspaceId)
  const workspaces = new Map((await listReadableWorkspaces(ctx, ids)).map((workspace) => [workspace.id, workspace]))
  const starts = decided.flatMap((one) => {
    const workspace = workspaces.get(one.workspaceId)
    return workspace ? { decided: one, workspace } : []
  })
  const limit = concurrencyLimit(CONCURRENT_BATCHES)
  const batches = Array.from({ length: Math.ceil(starts.length / BATCH) }, (_, index) =>
    starts.slice(index * BATCH, (index + 1) * BATCH),
  )
  await Promise.all(batches.map(async (batch) => limit(async () => startBatch(ctx, happened, batch))))
}

/** What prevents the run in a workspace becomes the decision there, and prevents no other run. */
async function startBatch(ctx: Ctx, happened: Happened, batch: readonly Start[]): Promise<void> {
  try {
    await transact(ctx, async (ctx) => insertRuns(ctx, happened, batch))
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'unavailable') throw error
    const [first, second] = batch
    if (!first) return
    if (second) for (const start of batch) await startBatch(ctx, happened, [start])
    else await store.insertDecisions(ctx.db, happened.delivery.id, [failedRow(first, error.message)])
  }
}

function failedRow({ decided }: Start, detail: string) {
  return decisionRow({ ...decided, decision: 'skip', reason: 'failed', detail })
}

/** Creates runs with their decisions, except where the commit has one: then that is the decision. */
async function insertRuns(ctx: TransactionCtx, happened: Happened, batch: readonly Start[]) {
  const { event, ingress, repository, delivery } = happened
  const isPlan = event.kind === 'pull-request'
  const commit = { sha: ingress.commit_sha, kind: isPlan ? 'plan' : 'run' } as const
  const workspaceIds = batch.map(({ workspace }) => workspace.id)
  const reserved = await store.reserveCommit(ctx.db, commit, workspaceIds)
  const workspaces = batch.flatMap(({ workspace }) => (reserved.has(workspace.id) ? workspace : []))
  const versions = await insertConfigurationVersions(ctx, workspaces, {
    input: { 'auto-queue-runs': true, speculative: isPlan },
    source: SERVICE_PROVIDERS[repository.service_provider].source,
    status: 'fetching',
    ingressAttributesId: ingress.id,
  })
  // The webhooks of some hosts lack the message of a pull request's head.
  const message = ingress.commit_message || (ingress.pull_request_title ?? '')
  const runs = new Map<string, string>()
  for (const workspace of workspaces) {
    const run = await insertRun(ctx, workspace, {
      input: { message },
      origin: {
        source: 'tfe-configuration-version',
        configurationVersionId: versions.get(workspace.id),
        awaitsConfiguration: true,
        createdByUserId: null,
      },
    })
    runs.set(workspace.id, run)
  }
  await store.setCommitRuns(ctx.db, commit, runs)
  await cancelOlderPlans(ctx, happened, runs)
  const decisions = batch.map(({ decided, workspace: { id } }) =>
    reserved.has(id)
      ? { ...decisionRow(decided), run_id: runs.get(id) ?? null }
      : { ...decisionRow({ ...decided, ...SAME_COMMIT, detail: commit.sha.slice(0, 7) }), run_id: null },
  )
  await store.insertDecisions(ctx.db, delivery.id, decisions)
}

const SAME_COMMIT = { decision: 'skip', reason: 'same-commit' } as const
