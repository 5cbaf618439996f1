import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { App, Ctx } from '../../../app.ts'
import { isInvalidValue, transact } from '../../../db/db.ts'
import { RawJson } from '../../../http/raw-json.ts'
import { dropWhenIdle } from '../../../idle-memory.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { type PackedExtraction, unpackList } from '../../../terraform-state/packed-extraction.ts'
import type { StateHeader } from '../../../terraform-state/state-header.ts'
import { announceVersions } from './access.ts'
import { LARGE_BYTES, createSerialQueue, readBlob, readContent } from './content.ts'
import { type ExtractionColumns, findResourceLists, saveExtraction } from './extraction-store.ts'
import { type SealedOutput, sealOutputs } from './sealed-outputs.ts'
import * as store from './store.ts'

/** The columns of a version whose content was not extracted yet, with the outputs that came with the request. */
export function unprocessedColumns(header: StateHeader | undefined, outputs: SealedOutput[] = []): ExtractionColumns {
  const state = header?.kind === 'state' ? header : undefined
  return {
    processed: false,
    format: state?.version ?? null,
    engineVersion: state?.terraformVersion ?? null,
    resourceCount: 0,
    billableCount: null,
    modules: null,
    providers: null,
    resources: null,
    resourceList: null,
    instances: null,
    outputs,
  }
}

type ExaminedContent = { header: StateHeader; extraction?: PackedExtraction | null | undefined }

/**
 * The columns of a version whose content was examined. `extraction` is undefined if the job extracts it later, and null for content that
 * cannot be extracted: it is kept, but has no outputs or resources. `requested` are the outputs that came with the request; they replace
 * those of the same name in the state.
 */
export function examinedColumns(
  app: App,
  { header, extraction }: ExaminedContent,
  requested: SealedOutput[] = [],
): ExtractionColumns {
  if (extraction) return extractionColumns(app, extraction, requested)
  const isLater = extraction === undefined && header.kind !== 'encrypted'
  return { ...unprocessedColumns(header, requested), processed: !isLater }
}

function extractionColumns(
  app: App,
  { outputs, stateVersion, ...extraction }: PackedExtraction,
  requested: readonly SealedOutput[] = [],
): ExtractionColumns {
  const names = new Set(requested.map((output) => output.name))
  const others = outputs.filter((output) => !names.has(output.name))
  return { ...extraction, processed: true, format: stateVersion, outputs: [...requested, ...sealOutputs(app, others)] }
}

/** Extracts a version off the event loop, at most once. Unreadable content counts as processed, without outputs or resources. */
export async function extractVersion(ctx: Ctx, id: string) {
  const version = await store.findVersion(ctx.db, id)
  if (!version || version.status !== 'finalized' || version.resources_processed) return
  const outcome = await extractContent(ctx, version)
  const nothing = { ...unprocessedColumns(undefined), processed: true }
  const save = async (columns: ExtractionColumns) =>
    transact(ctx, async (ctx) => {
      // An unlock makes the version current and copies its resource count, so it must not run concurrently.
      const workspace = await store.lockWorkspaceOf(ctx.db, id)
      if (!workspace) return
      const { id: workspaceId, organization_id: organizationId } = workspace
      announceVersions(ctx, [{ id, workspace_id: workspaceId, organization_id: organizationId }])
      await saveExtraction(ctx.db, id, {
        ...columns,
        format: columns.format ?? version.format,
        engineVersion: columns.engineVersion ?? version.engine_version,
      })
    })
  try {
    await save(outcome?.ok ? extractionColumns(ctx, outcome.value) : nothing)
  } catch (error) {
    // A retry would fail too, and the version would never be processed.
    if (!isInvalidValue(error)) throw error
    ctx.log.warn({ version: id }, 'the database rejected the data extracted from a state')
    await save(nothing)
  }
}

const extractInTurn = createSerialQueue()

async function extractContent(ctx: Ctx, version: store.PresentedRow) {
  const { raw_location: location, size } = version
  if (location !== null && size !== null && size > LARGE_BYTES)
    return extractInTurn(async () => ctx.workers.extract(await readBlob(ctx, { location, size })))
  const raw = await readContent(ctx, version, 'raw')
  return raw && ctx.workers.extract(raw)
}

/** Undefined if the state is encrypted or has a format that the server does not read. Extracts the version if necessary. */
export async function countManaged(ctx: Ctx, id: string): Promise<number | undefined> {
  await extractVersion(ctx, id)
  const version = await store.findVersion(ctx.db, id)
  return version?.modules == null ? undefined : version.resource_count
}

export const extractionJob = jobKind('state-versions.extract', z.object({ id: z.string() }), { concurrency: 2 })

/** Immutable resource lists by version id. */
const cache = new LRUCache<string, RawJson>({ maxSize: 16 * 1024 * 1024, sizeCalculation: ({ bytes }) => bytes.length })
dropWhenIdle(() => cache.clear())

/** Versions whose lists were read once, as by the response to their creation. Most are never read again, and would fill the cache. */
const readOnce = new LRUCache<string, true>({ max: 1000 })

/** Resource lists as JSON. Lists of large states have hundreds of KB, so they are read separately from their rows and cached. */
export async function resourceLists(app: Pick<App, 'db'>, versions: readonly store.PresentedRow[]) {
  const lists = new Map<string, RawJson>()
  const missing: string[] = []
  for (const { id, resources, has_long_list: isLong } of versions) {
    const list = isLong ? cache.get(id) : new RawJson(Buffer.from(resources ?? '[]'))
    if (!list) missing.push(id)
    else lists.set(id, list)
  }
  for (const { id, packed, json } of missing.length > 0 ? await findResourceLists(app.db, missing) : []) {
    const list = new RawJson(unpooled(packed ? unpackList(packed) : Buffer.from(json ?? '[]')))
    lists.set(id, list)
    if (readOnce.has(id)) cache.set(id, list)
    else readOnce.set(id, true)
  }
  return lists
}

/** A copy that shares no memory. A small buffer is a part of a pool of 64 KB, all of which it would keep for as long as it is cached. */
function unpooled(bytes: Buffer) {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
