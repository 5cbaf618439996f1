import type { Ctx } from '../../../app.ts'
import { invalid, invalidParameter, notFound } from '../../../errors.ts'
import { type Located, readContent } from '../state-versions/content.ts'
import type { StateDiff } from '../../../terraform-state/state-diff.ts'
import { requireStateVersion } from '../state-versions/service.ts'
import { findDiff, insertDiff } from './store.ts'
import { readStateHeader } from '../../../terraform-state/state-header.ts'
import * as store from '../state-versions/store.ts'

/** Goes up when a comparison shows more, or otherwise, than it did: what was cached before is then worked out again. */
const REVISION = 1

/** A comparison, and what was compared; `fromId` is null for nothing at all. */
export type ComparedVersions = { fromId: string | null; toId: string; diff: StateDiff }

/**
 * What changed from one version of a workspace to another, sensitive values masked; from the version before it unless
 * `from` names one. Worked out off the event loop once, and kept.
 *
 * Throws `not-found` for what may not be read, `invalid` for content that can't be compared.
 */
export async function diffStateVersion(ctx: Ctx, id: string, fromId?: string): Promise<ComparedVersions> {
  const to = await requireStateVersion(ctx, id)
  const from = await earlier(ctx, to, fromId)
  if (from && from.status !== 'finalized')
    throw invalidParameter(`from is ${from.id}, which is ${from.status}: it has no content`, 'from')
  if (to.status !== 'finalized') throw invalid(`${to.id} is ${to.status}, it has no content`)
  const key = { fromId: from?.id ?? null, toId: to.id }
  const sealKey = `state-diffs/${to.id}/${from?.id ?? 'none'}`
  const known = await findDiff(ctx.db, { ...key, revision: REVISION })
  if (known) return { ...key, diff: JSON.parse(ctx.blobs.unsealBuffer(sealKey, known).toString('utf8')) }

  const [before, after] = await Promise.all([
    from ? comparable(ctx, from) : Buffer.from(EMPTY_STATE),
    comparable(ctx, to),
  ])
  const outcome = await ctx.workers.diff(before, after)
  if (!outcome.ok) throw invalid(outcome.reason)
  const sealed = ctx.blobs.sealBuffer(sealKey, Buffer.from(JSON.stringify(outcome.value)))
  await insertDiff(ctx.db, { ...key, revision: REVISION, sealed, now: ctx.now() })
  return { ...key, diff: outcome.value }
}

/** The first version of a workspace is compared with nothing at all. */
const EMPTY_STATE = '{"version":4,"serial":0,"lineage":"","outputs":{},"resources":[]}'

async function earlier(ctx: Ctx, to: store.PresentedRow, fromId: string | undefined) {
  if (fromId === undefined) return store.findVersionBefore(ctx.db, to.workspace_id, to.revision)
  // Who may read one version of a workspace may read all of them.
  const from = await store.findVersion(ctx.db, fromId)
  if (from?.workspace_id === to.workspace_id) return from
  throw notFound(`state version ${fromId.slice(0, 100)}`, { parameter: 'from' })
}

/** An encrypted state is compared by its JSON state, if that came along. */
async function comparable(ctx: Ctx, version: Located & { format: number | null }) {
  const json = version.format === null ? await readContent(ctx, version, 'json') : undefined
  const content = json ?? (await readContent(ctx, version, 'raw'))
  if (content === undefined) throw invalid(`${version.id} has no content`)
  if (json === undefined && version.format === null && readStateHeader(content).kind === 'encrypted')
    throw invalid(`${version.id} can't be compared: the state is encrypted`)
  return content
}
