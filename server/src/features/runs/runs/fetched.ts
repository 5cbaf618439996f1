import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { transact } from '../../../db/db.ts'
import * as versions from '../configuration-versions/store.ts'
import { advanceRun } from './advance.ts'
import { announceRuns } from './audit.ts'
import { lockRunWorkspace } from './locked-run-store.ts'
import { setMissingMessages } from './message-store.ts'
import type { Change } from './transition.ts'

export type FetchingVersion = { id: string; workspace_id: string }

/**
 * The result of a fetch: an archive that versions share, or why there is none, for users. `size` in bytes. `runMessage` is for runs that
 * have no message.
 */
export type FetchResult = { key: string; size: number; runMessage?: string | undefined } | { message: string }

/** Number of workspaces whose runs are released at the same time. */
const CONCURRENCY = 8

/** Ends the fetch of versions, and releases the runs that wait for it or ends them as errored. Repeatable: each workspace has its transaction. */
export async function endFetches(ctx: Ctx, fetching: readonly FetchingVersion[], result: FetchResult) {
  const limit = concurrencyLimit(CONCURRENCY)
  await Promise.all(
    fetching.map(async (version) => limit(async () => transact(ctx, async (ctx) => endFetch(ctx, version, result)))),
  )
}

/** Shows why the fetch of versions is repeated, as the reason why their runs wait. */
export async function delayFetches(ctx: Ctx, fetching: readonly FetchingVersion[], problem: string) {
  await transact(ctx, async (ctx) => {
    const ids = fetching.map(({ id }) => id)
    await versions.setFetchProblem(ctx.db, ids, problem)
    await announceRuns(ctx, await versions.listFetchingRuns(ctx.db, ids))
  })
}

async function endFetch(ctx: TransactionCtx, { id, workspace_id: workspaceId }: FetchingVersion, result: FetchResult) {
  const workspace = await lockRunWorkspace(ctx.db, workspaceId)
  const now = ctx.now()
  const change =
    'key' in result
      ? ({ to: 'uploaded', changes: { blob_key: result.key, size: result.size } } as const)
      : ({ to: 'errored', changes: { error: 'fetch_failed', error_message: result.message } } as const)
  const version = workspace && (await versions.updateStatus(ctx.db, id, { from: 'fetching', now, ...change }))
  if (!version) return
  await recordAudit(ctx, {
    organizationId: workspace.organization_id,
    action: 'key' in result ? 'upload' : 'fetch_failed',
    resource: { type: 'configuration_version', id },
    meta: { workspace: workspaceId, ...('key' in result && { size: result.size }) },
    notices: [{ type: 'workspaces', id: workspaceId, workspace: workspaceId }],
  })
  if ('key' in result && !version.speculative && !version.provisional)
    await versions.setFetchedConfiguration(ctx.db, { id, workspaceId })
  const run: Change['run'] = 'key' in result ? { fetches: false } : { error: result.message }
  const runIds = await versions.listFetchingRuns(ctx.db, [id])
  if ('key' in result && result.runMessage !== undefined) await setMissingMessages(ctx.db, runIds, result.runMessage)
  for (const runId of runIds) await advanceRun(ctx, runId, { run })
}
