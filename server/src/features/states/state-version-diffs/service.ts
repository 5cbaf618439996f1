import { parseExact } from '@groundstate/contract/exact-json'
import type { StateVersionDiffResource } from '@groundstate/contract/state-version-diffs'
import type { Ctx } from '../../../app.ts'
import { invalid, invalidParameter, notFound } from '../../../errors.ts'
import { sealedBlobColumn } from '../../../secrets/sealed.ts'
import type { KnownValues } from '../../../terraform-state/known-values.ts'
import type { StateDiff, StateSummary } from '../../../terraform-state/state-diff.ts'
import { readStateHeader } from '../../../terraform-state/state-header.ts'
import { readSensitiveValues } from '../../workspaces/variable-sets/sensitive-values.ts'
import { requireStateVersion } from '../state-versions/access.ts'
import type { ContentLocations } from '../state-versions/content-store.ts'
import { readContent, withWhole } from '../state-versions/content.ts'
import { type PresentedRow, findVersion, findVersionBefore } from '../state-versions/store.ts'
import { findDiff, insertDiff } from './store.ts'

/** The format of cached comparisons; increment it to have them computed again. */
const REVISION = 2

export const sealedDiff = sealedBlobColumn(
  'state_diffs.sealed',
  ['to_id', 'from_id'],
  ({ to_id: to, from_id: from }) => `state-diffs/${to}/${from ?? 'none'}`,
)

/** The changes since another version, by default the previous one, without sensitive values; cached. Throws `invalid` if they cannot be compared. */
export async function compareStateVersions(ctx: Ctx, id: string, fromId?: string): Promise<ComparedVersions> {
  const to = await requireStateVersion(ctx, id)
  const from = await findEarlier(ctx, to, fromId)
  if (from && from.status !== 'finalized')
    throw invalidParameter(`from is ${from.id}, which is ${from.status}: it has no content`, 'from')
  if (to.status !== 'finalized') throw invalid(`${to.id} is ${to.status}, it has no content`)
  const key = { fromId: from?.id ?? null, toId: to.id }
  const sealKey = sealedDiff.context({ to_id: to.id, from_id: from?.id ?? null })
  const [cached, valuesOf] = await Promise.all([
    findDiff(ctx.db, { ...key, revision: REVISION }),
    readSensitiveValues(ctx, [to.workspace_id]),
  ])
  const shown = async (bytes: Buffer) => ({ ...key, diff: await masked(ctx, bytes, valuesOf(to.workspace_id)) })
  if (cached) return shown(ctx.blobs.unsealBuffer(sealKey, cached))

  const outcome = await withWhole(sizeOf(to) + (from ? sizeOf(from) : 0), async () => {
    const [before, after] = await Promise.all([
      from ? readComparable(ctx, from) : Buffer.from(EMPTY_STATE),
      readComparable(ctx, to),
    ])
    return ctx.workers.diff(before, after)
  })
  if (!outcome.ok) throw invalid(outcome.reason)
  const bytes = Buffer.from(outcome.value)
  await insertDiff(ctx.db, { ...key, revision: REVISION, sealed: ctx.blobs.sealBuffer(sealKey, bytes), now: ctx.now() })
  return shown(bytes)
}

/** The variables may have changed since the diff was cached, so it is masked whenever it is read. */
async function masked(ctx: Ctx, bytes: Buffer, values: KnownValues | undefined) {
  const outcome = values ? await ctx.workers.maskDiff(bytes, values) : { ok: true as const, value: bytes }
  if (!outcome.ok) throw new Error(outcome.reason)
  return parseExact(Buffer.from(outcome.value).toString('utf8')) as StateDiff
}

/** The empty state that the first version of a workspace is compared with. */
const EMPTY_STATE = '{"version":4,"serial":0,"lineage":"","outputs":{},"resources":[]}'

async function findEarlier(ctx: Ctx, to: PresentedRow, fromId: string | undefined) {
  if (fromId === undefined) return findVersionBefore(ctx.db, to.workspace_id, to.revision)
  // A caller who may read one version of a workspace may read all.
  const from = await findVersion(ctx.db, fromId)
  if (from?.workspace_id === to.workspace_id) return from
  throw notFound(`state version ${fromId.slice(0, 100)}`, { parameter: 'from' })
}

/** Size of the content to compare, in bytes; that of a JSON state is unknown. */
function sizeOf({ format, size }: PresentedRow) {
  return format === null ? Infinity : (size ?? 0)
}

/** The content to compare: the JSON state of an encrypted state, if there is one, else the raw state. */
async function readComparable(ctx: Ctx, version: ContentLocations & { format: number | null }) {
  const json = version.format === null ? await readContent(ctx, version, 'json') : undefined
  const content = json ?? (await readContent(ctx, version, 'raw'))
  if (content === undefined) throw invalid(`${version.id} has no content`)
  if (json === undefined && version.format === null && readStateHeader(content).kind === 'encrypted')
    throw invalid(`${version.id} can't be compared: the state is encrypted`)
  return content
}

/** `fromId` is null if there is no earlier version. */
type ComparedVersions = { fromId: string | null; toId: string; diff: StateDiff }

/** Not part of the public API. */
export function stateDiffResource({ fromId, toId, diff }: ComparedVersions): StateVersionDiffResource {
  const { from, to, ...changes } = diff
  return {
    id: `${fromId ?? 'none'}..${toId}`,
    type: 'state-version-diffs',
    attributes: { from: fromId === null ? null : summary(from), to: summary(to), ...changes },
    relationships: {
      from: { data: fromId === null ? null : { id: fromId, type: 'state-versions' } },
      to: { data: { id: toId, type: 'state-versions' } },
    },
  }
}

function summary({ serial, lineage, engineVersion }: StateSummary) {
  return { serial, lineage, 'engine-version': engineVersion }
}
