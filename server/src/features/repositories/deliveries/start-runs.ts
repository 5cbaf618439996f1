import { SERVICE_PROVIDERS } from '@groundstate/contract/oauth-clients'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { isUnavailable, transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { insertConfigurationVersions } from '../../runs/configuration-versions/service.ts'
import { lockRunWorkspaces } from '../../runs/runs/locked-run-store.ts'
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

/** Number of workspaces whose runs are created in one transaction, which locks them. */
const BATCH = 20
/** In this process: others need connections to the database, too. */
const limit = concurrencyLimit(4)

type Happened = {
  delivery: Pick<store.DeliveryRow, 'id' | 'source'>
  event: HostEvent
  repository: RepositoryRow
  ingress: NonNullable<ReturnType<typeof ingressRow>>
}

/** A decision for a run, and its workspace. */
type Start = { decided: Decided; workspace: Workspace }

/** Creates a run in each of the workspaces, which waits for the archive of the commit. Throws after all others were created if one cannot be. */
export async function startRuns(ctx: Ctx, happened: Happened, decided: readonly Decided[]) {
  await insertIngressAttributes(ctx.db, happened.ingress)
  const ids = decided.map(({ workspaceId }) => workspaceId)
  const workspaces = new Map((await listReadableWorkspaces(ctx, ids)).map((workspace) => [workspace.id, workspace]))
  const starts = decided.flatMap((one) => {
    const workspace = workspaces.get(one.workspaceId)
    return workspace ? { decided: one, workspace } : []
  })
  const batches = Array.from({ length: Math.ceil(starts.length / BATCH) }, (_, index) =>
    starts.slice(index * BATCH, (index + 1) * BATCH),
  )
  await settled(batches.map(async (batch) => limit(async () => startBatch(ctx, happened, batch))))
}

/** Starts the runs of a batch. An error in one workspace is recorded as its decision; the others get their runs. */
async function startBatch(ctx: Ctx, happened: Happened, batch: readonly Start[]): Promise<void> {
  try {
    await transact(ctx, async (ctx) => insertRuns(ctx, happened, batch))
  } catch (error) {
    const [first, ...rest] = batch
    if (!first || isUnavailable(error) || (error instanceof AppError && error.kind === 'unavailable')) throw error
    if (rest.length > 0) await settled(batch.map(async (start) => startBatch(ctx, happened, [start])))
    else if (error instanceof AppError)
      await store.insertDecisions(ctx.db, happened.delivery.id, [failedRow(first, error.message)])
    else throw error
  }
}

/** Waits for all, and then throws what the first of those that failed threw. */
async function settled(all: readonly Promise<void>[]) {
  const failed = (await Promise.allSettled(all)).find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
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
  await lockRunWorkspaces(ctx.db, workspaceIds)
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
  await cancelOlderPlans(ctx, happened, { workspaceIds, newPlans: runs })
  const decisions = batch.map(({ decided, workspace: { id } }) =>
    reserved.has(id)
      ? { ...decisionRow(decided), run_id: runs.get(id) ?? null }
      : { ...decisionRow({ ...decided, ...SAME_COMMIT, detail: commit.sha.slice(0, 7) }), run_id: null },
  )
  await store.insertDecisions(ctx.db, delivery.id, decisions)
}

const SAME_COMMIT = { decision: 'skip', reason: 'same-commit' } as const
