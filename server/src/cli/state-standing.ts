import { createHash } from 'node:crypto'
import type { PreparedWorkspace, StateSource, TransferredVersion } from './state-place.ts'

/** A workspace is left alone, for a reason that a person can act upon; the others go on. */
export class WorkspaceRefusal extends Error {}

/**
 * Which versions of a history a workspace still lacks: those after the one that is its newest, found by what was noted or
 * by its content. Older ones that are not there stay out: they would become current.
 *
 * Throws `WorkspaceRefusal` when the newest state there is none of the history's, unless that only goes on from it or
 * `replace` is set.
 */
export async function lackingVersions(
  source: StateSource,
  prepared: PreparedWorkspace,
  { workspace, history, replace }: { workspace: string; history: TransferredVersion[]; replace: boolean },
): Promise<TransferredVersion[]> {
  const { arrived, present } = prepared
  if (!present) return history.filter((version) => !arrived.has(version.id))
  const newest = present.versions.at(-1)
  if (!newest || history.length === 0) return history
  const noted = history.findLastIndex((version) => arrived.get(version.id) === newest.id)
  if (noted >= 0) return history.slice(noted + 1)

  const raw = await present.readRaw(newest)
  const md5 = md5Of(raw)
  const read = async (version: TransferredVersion) => (await source.readContent(workspace, version)).raw
  let sameSerial: string | undefined
  for (const [at, version] of [...history.entries()].toReversed()) {
    if (version.serial !== newest.serial) continue
    const theirs = version.md5 || md5Of(await read(version))
    if (theirs === md5) return history.slice(at + 1)
    sameSerial ??= theirs
  }
  if (replace) return history

  const [first, last] = [history[0] ?? newest, history.at(-1) ?? newest]
  const own = identity(raw, newest)
  const theirs = identity(await read(last), last)
  const refused = (reason: string) => new WorkspaceRefusal(`${reason}; --replace puts the source's states on top of it`)
  if (own.lineage !== theirs.lineage) {
    throw refused(
      `its state has lineage ${own.lineage ?? 'none'}, the source's has lineage ${theirs.lineage ?? 'none'}`,
    )
  }
  if (sameSerial !== undefined) {
    throw refused(`its states went another way: its serial ${newest.serial} has md5 ${md5}, the source's ${sameSerial}`)
  }
  if (newest.serial > last.serial) {
    throw refused(`its state has serial ${newest.serial}, which is ahead of the source's serial ${last.serial}`)
  }
  // The source may have dropped its oldest states by now: what it has goes on from the one that is there.
  const oldest = Math.min(...history.map((version) => version.serial))
  if (newest.serial < oldest && identity(await read(first), first).lineage === own.lineage) return history
  throw refused(`its states went another way: the source has no state with its serial ${newest.serial}`)
}

/** How many of the versions neither are in a workspace nor will be. */
export function countLeftOut(prepared: PreparedWorkspace, unneeded: readonly TransferredVersion[]) {
  const serials = new Set(prepared.present?.versions.map((version) => version.serial))
  if (!prepared.present) return 0
  return unneeded.filter((version) => !prepared.arrived.has(version.id) && !serials.has(version.serial)).length
}

/** Serial and lineage as the state itself has them; the server's word counts for one that can't be read. */
export function identity(raw: Buffer, version: TransferredVersion) {
  try {
    const { serial, lineage } = JSON.parse(raw.toString('utf8')) as { serial?: unknown; lineage?: unknown }
    return {
      serial: typeof serial === 'number' ? serial : version.serial,
      lineage: typeof lineage === 'string' && lineage !== '' ? lineage : version.lineage,
    }
  } catch {
    return { serial: version.serial, lineage: version.lineage }
  }
}

export function md5Of(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}
