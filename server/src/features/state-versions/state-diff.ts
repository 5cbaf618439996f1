import type { Ctx } from '../../app.ts'
import { invalid, invalidParameter, notFound } from '../../errors.ts'
import { type Located, readContent } from './content.ts'
import type { StateDiff } from './diff.ts'
import { requireStateVersion } from './service.ts'
import { findDiff, insertDiff } from './diff-store.ts'
import * as store from './store.ts'

/** Goes up when a comparison shows more, or otherwise, than it did: what was cached before is then worked out again. */
const REVISION = 1

/**
 * What changed from one version of a workspace to another, sensitive values masked; from the version before it unless
 * `from` names one. Worked out off the event loop once, and kept.
 *
 * Throws `not-found` for what may not be read, `invalid` for content that can't be compared.
 */
export async function diffStateVersion(ctx: Ctx, id: string, fromId: unknown): Promise<StateDiff> {
  const to = await requireStateVersion(ctx, id)
  const from = await earlier(ctx, to, fromId)
  for (const version of [from, to]) {
    if (version && version.status !== 'finalized')
      throw invalid(`${version.id} is ${version.status}, it has no content`)
  }
  const key = { fromId: from?.id ?? null, toId: to.id, revision: REVISION }
  const sealKey = `state-diffs/${to.id}/${from?.id ?? 'none'}`
  const known = await findDiff(ctx.db, key)
  if (known) return JSON.parse(ctx.blobs.unsealBuffer(sealKey, known).toString('utf8'))

  const [before, after] = await Promise.all([
    from ? comparable(ctx, from) : Buffer.from(EMPTY_STATE),
    comparable(ctx, to),
  ])
  const outcome = await ctx.workers.diff(before, after)
  if (!outcome.ok) throw invalid(outcome.reason)
  const sealed = ctx.blobs.sealBuffer(sealKey, Buffer.from(JSON.stringify(outcome.value)))
  await insertDiff(ctx.db, { ...key, sealed, now: ctx.now() })
  return outcome.value
}

/** The first version of a workspace is compared with nothing at all. */
const EMPTY_STATE = '{"version":4,"serial":0,"lineage":"","outputs":{},"resources":[]}'

async function earlier(ctx: Ctx, to: store.PresentedRow, fromId: unknown) {
  if (fromId === undefined || fromId === '') {
    return store.findVersionBefore(ctx.db, to.workspace_id, to.revision)
  }
  if (typeof fromId !== 'string') throw invalidParameter('from must name one state version', 'from')
  const from = await requireStateVersion(ctx, fromId)
  if (from.workspace_id !== to.workspace_id) throw notFound('state version')
  return from
}

/** An encrypted state is compared by its JSON state, if that came along. */
async function comparable(ctx: Ctx, version: Located & { format: number | null }) {
  const json = version.format === null ? await readContent(ctx, version, 'json') : undefined
  const content = json ?? (await readContent(ctx, version, 'raw'))
  if (content === undefined) throw invalid(`${version.id} has no content`)
  return content
}
