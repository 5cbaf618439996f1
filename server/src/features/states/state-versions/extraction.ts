import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { App, Ctx } from '../../../app.ts'
import { isRefusedValue, transact } from '../../../db/db.ts'
import { RawJson } from '../../../http/raw-json.ts'
import { dropWhenIdle } from '../../../idle-memory.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { type PackedExtraction, unpackList } from '../../../terraform-state/packed-extraction.ts'
import type { StateHeader } from '../../../terraform-state/state-header.ts'
import { announceVersions } from './audit.ts'
import { LARGE_BYTES, inTurn, readBlob, readContent } from './content.ts'
import { type ExtractionColumns, findResourceLists, saveExtraction } from './extraction-store.ts'
import { type SealedOutput, sealOutputs } from './sealed-outputs.ts'
import type { PresentedRow } from './store.ts'
import * as store from './store.ts'

/** The columns of a version whose content was not read yet, with the outputs that came with the request. */
export function unprocessedColumns(header: StateHeader | undefined, outputs: SealedOutput[] = []): ExtractionColumns {
  return {
    ...EMPTY,
    format: header?.kind === 'state' ? header.version : null,
    engineVersion: header?.kind === 'state' ? (header.terraformVersion ?? null) : null,
    outputs,
  }
}

const EMPTY: ExtractionColumns = {
  processed: false,
  format: null,
  engineVersion: null,
  resourceCount: 0,
  billableCount: null,
  modules: null,
  providers: null,
  resources: null,
  resourceList: null,
  instances: null,
  outputs: [],
}

/**
 * The columns of a version whose content was examined. `extraction` is undefined where that is left to the job, and null for
 * content that can't be extracted: it is kept, but has no outputs or resources. `given` are the outputs that came with the request:
 * they replace those of the same name in the state.
 */
export function examinedColumns(
  app: App,
  { header, extraction }: { header: StateHeader; extraction?: PackedExtraction | null | undefined },
  given: SealedOutput[] = [],
): ExtractionColumns {
  if (extraction) return extractionColumns(app, extraction, given)
  const isLater = extraction === undefined && header.kind !== 'encrypted'
  return { ...unprocessedColumns(header, given), processed: !isLater }
}

/** An extraction as columns, with the outputs that came with the request. */
function extractionColumns(
  app: App,
  { outputs, stateVersion, ...extraction }: PackedExtraction,
  given: readonly SealedOutput[] = [],
): ExtractionColumns {
  const names = new Set(given.map((output) => output.name))
  return {
    ...extraction,
    processed: true,
    format: stateVersion,
    outputs: [
      ...given,
      ...sealOutputs(
        app,
        outputs.filter((output) => !names.has(output.name)),
      ),
    ],
  }
}

/**
 * Extracts what a version shows of its content, off the event loop. Does nothing for a version that is gone or was extracted
 * before. Of content that can't be read, nothing is extracted, and the version counts as processed.
 */
export async function extractVersion(ctx: Ctx, id: string) {
  const version = await store.findVersion(ctx.db, id)
  if (!version || version.status !== 'finalized' || version.resources_processed) return
  const outcome = await extracted(ctx, version)
  const nothing = { ...unprocessedColumns(undefined), processed: true }
  const save = async (found: ExtractionColumns) =>
    transact(ctx, async (ctx) => {
      // An unlock, which makes the version current, copies the count of its resources: the lock keeps it out meanwhile.
      const workspace = await store.lockWorkspaceOf(ctx.db, id)
      if (!workspace) return
      const { id: workspaceId, organization_id: organizationId } = workspace
      announceVersions(ctx, [{ id, workspace_id: workspaceId, organization_id: organizationId }])
      await saveExtraction(ctx.db, id, {
        ...found,
        format: found.format ?? version.format,
        engineVersion: found.engineVersion ?? version.engine_version,
      })
    })
  try {
    await save(outcome?.ok ? extractionColumns(ctx, outcome.value) : nothing)
  } catch (error) {
    // Another attempt would fail too, and the version would never be processed.
    if (!isRefusedValue(error)) throw error
    ctx.log.warn({ version: id }, 'the database refused what was extracted from a state')
    await save(nothing)
  }
}

const extractInTurn = inTurn()

async function extracted(ctx: Ctx, version: store.PresentedRow) {
  const { raw_location: location, size } = version
  if (location !== null && size !== null && size > LARGE_BYTES)
    return extractInTurn(async () => ctx.workers.extract(await readBlob(ctx, { location, size })))
  const raw = await readContent(ctx, version, 'raw')
  return raw && ctx.workers.extract(raw)
}

/**
 * How many resources a version manages; extracts them if that was not done yet. Undefined where it can't be known: the state is
 * encrypted, or of a format that the server does not read.
 */
export async function countManaged(ctx: Ctx, id: string): Promise<number | undefined> {
  await extractVersion(ctx, id)
  const version = await store.findVersion(ctx.db, id)
  return version?.modules == null ? undefined : version.resource_count
}

/** Extracts outputs and resources from the content of a finalized version. */
export const extractionJob = jobKind('state-versions.extract', z.object({ id: z.string() }), { concurrency: 2 })

/** Lists by the id of their version, which never change. */
const cache = new LRUCache<string, RawJson>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ bytes }) => bytes.length,
})
dropWhenIdle(() => cache.clear())

/**
 * The lists of resources that versions show, as JSON. Those of large states have hundreds of KB; they are read apart from their
 * rows and cached, so that showing a version costs the same for every size of state, except for the bytes that are sent.
 */
export async function resourceLists(app: Pick<App, 'db'>, versions: readonly PresentedRow[]) {
  const lists = new Map<string, RawJson>()
  const missing: string[] = []
  for (const { id, resources, has_long_list: isLong } of versions) {
    const list = isLong ? cache.get(id) : new RawJson(Buffer.from(resources ?? '[]'))
    if (!list) missing.push(id)
    else lists.set(id, list)
  }
  if (missing.length > 0) {
    for (const { id, packed, json } of await findResourceLists(app.db, missing)) {
      const list = new RawJson(packed ? unpackList(packed) : Buffer.from(json ?? '[]'))
      lists.set(id, list)
      cache.set(id, list)
    }
  }
  return lists
}
