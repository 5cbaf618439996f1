import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { ARTIFACT_PREFIX, FILE_KINDS, JSON_KINDS, readArtifactKey } from './artifact.ts'
import { LOG_PREFIX } from './log.ts'
import * as store from './store.ts'

/** Deletes the logs and files of deleted runs, and those that are no longer kept. Returns the number of deleted blobs. */
export async function sweepRunBlobs(ctx: Ctx, signal: AbortSignal) {
  const logs = await sweepBlobs(ctx, LOG_PREFIX, async (keys) => namedLogs(ctx, keys), signal)
  const artifacts = await sweepBlobs(ctx, ARTIFACT_PREFIX, async (keys) => namedArtifacts(ctx, keys), signal)
  if (logs + artifacts > 0) ctx.log.info({ logs, artifacts }, 'deleted logs and files that no run has')
  return logs + artifacts
}

async function namedLogs(ctx: Ctx, keys: readonly string[]) {
  const owner = (key: string) => blobOwner(key, LOG_PREFIX)
  const found = await store.findLoggedPhases(ctx.db, [...new Set(keys.map(owner))])
  return new Set(keys.filter((key) => found.has(owner(key))))
}

async function namedArtifacts(ctx: Ctx, keys: readonly string[]) {
  const runIds = new Set(keys.map((key) => readArtifactKey(key).runId))
  const plans = new Map((await store.findPlansOfRuns(ctx.db, [...runIds])).map((plan) => [plan.run_id, plan]))
  const isNamed = (key: string) => {
    const { runId, kind } = readArtifactKey(key)
    const plan = plans.get(runId)
    if (!plan) return false
    if (isOf(JSON_KINDS, kind)) return plan.json_deleted_at === null
    return !isOf(FILE_KINDS, kind) || plan.file_deleted_at === null
  }
  return new Set(keys.filter(isNamed))
}

function isOf(kinds: readonly string[], kind: string) {
  return kinds.includes(kind)
}
