import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { notFound } from '../../../errors.ts'
import { requireConfigurationVersion, requireConfigurationOfRun } from './access.ts'
import * as store from './store.ts'

/** The archive of a version, for actors who may read its runs, and for the tasks of a run that uses the version. */
export async function openConfiguration(ctx: Ctx, id: string): Promise<{ content: Readable; size: number | null }> {
  if (ctx.actor.kind === 'task') {
    const version = await requireConfigurationOfRun(ctx, ctx.actor.runId)
    if (version.id !== id) throw notFound('configuration version')
    return openArchive(ctx, version)
  }
  return openArchive(ctx, await requireConfigurationVersion(ctx, id, 'runs:read'))
}

export async function openArchive(
  ctx: Ctx,
  version: Pick<store.ConfigurationVersionRow, 'status' | 'blob_key' | 'size'>,
) {
  if (version.status !== 'uploaded' || version.blob_key === null) throw notFound('configuration archive')
  const content = await ctx.blobs.open(version.blob_key).catch((error: unknown) => {
    // Lost, as with a disk that was not restored. An agent that gets an error of ours would ask for it for ever.
    if (error instanceof BlobNotFoundError) throw notFound('configuration archive')
    throw error
  })
  return { content, size: version.size }
}

/** The archive for a job that is already authorised. */
export async function openJobConfiguration(ctx: Ctx, id: string) {
  const version = await store.findConfigurationVersionRow(ctx.db, id)
  if (!version) throw notFound('configuration version')
  return openArchive(ctx, version)
}
