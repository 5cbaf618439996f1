import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { findConfigurationVersionRow } from '../../runs/configuration-versions/store.ts'
import { uploadConfiguration } from '../../runs/configuration-versions/upload.ts'
import { uploadUrl } from '../../runs/configuration-versions/urls.ts'
import type { Configuration } from './parts.ts'
import type { uploadJob } from './upload-job.ts'

const DIRECTORY = join(import.meta.dirname, 'configurations')

/** Uploads configurations as the creator of their versions, once. A version that is gone or has its archive is left alone. */
export async function uploadSampleConfigurations(ctx: Ctx, { versions }: z.infer<typeof uploadJob.data>) {
  for (const { id, configuration } of versions) {
    const version = await findConfigurationVersionRow(ctx.db, id)
    if (version?.status !== 'pending') continue
    const token = uploadUrl(ctx, version).split('/').at(-1) ?? ''
    await uploadConfiguration(ctx, token, Readable.from(pack(configuration)))
  }
}

/** The same bytes each time: an upload that is sent twice must be recognised. */
function pack(configuration: Configuration) {
  const options = { cwd: join(DIRECTORY, configuration), gzip: true, portable: true, mtime: new Date(0) }
  return create(options, ['.'])
}
