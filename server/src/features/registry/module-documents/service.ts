import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { type ModuleFile, readModuleFiles } from '../../../archives/module-files.ts'
import { announce } from '../../../changes/announce.ts'
import { messageOf } from '../../../error-code.ts'
import { notFound } from '../../../errors.ts'
import type { ParsedHcl } from '../../../hcl/hcl.ts'
import { requireModule } from '../registry-modules/access.ts'
import { documentsOf, isReadme } from './documents.ts'
import * as store from './store.ts'

/** Reads the archive of a published version and keeps its documents. Idempotent. */
export async function documentVersion(ctx: Ctx, versionId: string) {
  const version = await store.findArchive(ctx.db, versionId)
  if (!version?.blob_key || (await store.findDocuments(ctx.db, versionId))) return
  const found = await readModuleFiles(await ctx.blobs.open(version.blob_key))
  const sources = found.files.filter(({ path }) => !isReadme(path))
  const { json = [], hcl = [] } = Object.groupBy(sources, ({ path }) => (path.endsWith('.json') ? 'json' : 'hcl'))
  const parsed = [
    ...json.map(parseJson),
    ...(await ctx.workers.parseHcl(hcl.map(({ path, text }) => ({ path, text })))),
  ]
  await store.insertDocuments(ctx.db, versionId, documentsOf(found, parsed), ctx.now())
  const { registry_module_id: id, organization_id: organization } = version
  announce(ctx, { type: 'registry-modules', id, organization })
}

function parseJson({ path, text }: ModuleFile): ParsedHcl {
  try {
    const body = z.record(z.string(), z.unknown()).parse(JSON.parse(text))
    // Default values are printed.
    JSON.stringify(body)
    return { path, body }
  } catch (error) {
    if (error instanceof RangeError) return { path, problem: 'it is nested too deep' }
    return { path, problem: error instanceof z.ZodError ? 'it is not a JSON object' : messageOf(error) }
  }
}

/** The documents of a version; undefined until its archive has been read. */
export async function readDocuments(ctx: Ctx, versionId: string) {
  const version = await store.findArchive(ctx.db, versionId)
  if (!version) throw notFound('registry module')
  await requireModule(ctx, version.registry_module_id, 'registry:read')
  return store.findDocuments(ctx.db, versionId)
}
