import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { listChangedOutputs } from '../../states/state-version-outputs/compare.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { artifactKey } from '../plans/artifact.ts'
import { findLastPlan, type WaitingFiring } from './firing-store.ts'

/**
 * Whether none of the outputs that the workspace reads from the source has changed with the run that fired. Where it isn't known
 * which outputs the workspace reads, all count. False where outputs can't be known: a run too many does no harm.
 */
export async function readUnchanged(ctx: Ctx, workspace: Workspace, firing: WaitingFiring): Promise<boolean> {
  const changed = await listChangedOutputs(ctx, {
    beforeId: firing.before_state_version_id,
    afterId: firing.after_state_version_id,
  })
  if (changed === undefined) return false
  if (changed.size === 0) return true
  const read = await readOutputNames(ctx, workspace, firing)
  return read !== undefined && !read.some((name) => changed.has(name))
}

/** A larger archive (bytes, packed) is not searched. */
const MAX_ARCHIVE = 16 * 1024 * 1024

/** The outputs of the source that the workspace's configuration reads; undefined where it can't be told. */
async function readOutputNames(ctx: Ctx, workspace: Workspace, { source_name: source }: WaitingFiring) {
  const plan = await findLastPlan(ctx.db, workspace.id)
  if (!plan?.job_id || !plan.blob_key || (plan.size ?? 0) > MAX_ARCHIVE) return undefined
  const json = await readBlob(ctx, artifactKey(plan.run_id, plan.job_id, 'plan-json'))
  const archive = json && (await readBlob(ctx, plan.blob_key))
  if (!archive) return undefined
  const outcome = await ctx.workers.remoteReads(json, archive)
  const reads = outcome.ok ? outcome.value : undefined
  const own = reads?.filter(({ organization, workspace: name }) => {
    const isHere = organization === null || organization.toLowerCase() === workspace.organization_name.toLowerCase()
    return isHere && name.toLowerCase() === source.toLowerCase()
  })
  // A workspace that does not read the source by a reference depends on it in another way.
  if (!own || own.length === 0 || own.some(({ outputs }) => outputs === null)) return undefined
  return own.flatMap(({ outputs }) => outputs ?? [])
}

async function readBlob(ctx: Ctx, key: string): Promise<Buffer | undefined> {
  return ctx.blobs.read(key).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) return undefined
    throw error
  })
}
