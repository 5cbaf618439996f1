import type { Ctx } from '../../../app.ts'
import { extractVersion } from '../state-versions/extract.ts'
import { findVersion } from '../state-versions/store.ts'
import { comparableOutput } from './sealed-output.ts'
import { listOutputs } from './store.ts'

/**
 * The names of the outputs that differ between two versions; null stands for the state before the first. They are extracted if
 * that was not done yet. Undefined where outputs can't be known: content is deleted, encrypted, or of a format that the server
 * does not read.
 */
export async function listChangedOutputs(
  ctx: Ctx,
  { beforeId, afterId }: { beforeId: string | null; afterId: string | null },
): Promise<ReadonlySet<string> | undefined> {
  if (beforeId === afterId) return new Set()
  const before = await comparableOutputs(ctx, beforeId)
  const after = before && (await comparableOutputs(ctx, afterId))
  if (!after) return undefined
  const names = new Set([...before.keys(), ...after.keys()])
  return new Set([...names].filter((name) => before.get(name) !== after.get(name)))
}

/** Each output as text that is equal where the output is. */
async function comparableOutputs(ctx: Ctx, id: string | null): Promise<ReadonlyMap<string, string> | undefined> {
  if (id === null) return new Map()
  await extractVersion(ctx, id)
  const version = await findVersion(ctx.db, id)
  if (version?.status !== 'finalized' || version.modules === null) return undefined
  const rows = await listOutputs(ctx.db, id)
  return new Map(rows.map((row) => [row.name, comparableOutput(ctx, row)]))
}
