import { createHash } from 'node:crypto'
import type { PreparedWorkspace, StateSource, TransferredVersion } from './state-source-and-target.ts'

/** Skips a workspace, for a reason that the user can resolve; the others continue. */
export class WorkspaceSkippedError extends Error {}

/**
 * The versions of a history that a workspace lacks: those after its newest version, which is identified by the checkpoint or by its content. Missing
 * older versions are left out, since they would become current. Throws `WorkspaceSkippedError` if the newest version is not in the history, unless
 * the history continues from it or `replace` is set.
 */
export async function findMissingVersions(
  source: StateSource,
  prepared: PreparedWorkspace,
  { workspace, history, replace }: { workspace: string; history: TransferredVersion[]; replace: boolean },
): Promise<TransferredVersion[]> {
  const { arrived, present } = prepared
  if (!present) return history.filter((version) => !arrived.has(version.id))
  const newest = present.versions.at(-1)
  if (!newest || history.length === 0) return history
  const recorded = history.findLastIndex((version) => arrived.get(version.id) === newest.id)
  if (recorded >= 0) return history.slice(recorded + 1)

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
  const own = stateIdentity(raw, newest)
  const theirs = stateIdentity(await read(last), last)
  const refused = (reason: string) => new WorkspaceSkippedError(`${reason}; --replace adds the source's states anyway`)
  if (own.lineage !== theirs.lineage) {
    throw refused(
      `its state has lineage ${own.lineage ?? 'none'}, the source's has lineage ${theirs.lineage ?? 'none'}`,
    )
  }
  if (sameSerial !== undefined) {
    throw refused(`its states have diverged: its serial ${newest.serial} has md5 ${md5}, the source's ${sameSerial}`)
  }
  if (newest.serial > last.serial) {
    throw refused(`its state has serial ${newest.serial}, which is ahead of the source's serial ${last.serial}`)
  }
  // The source may have deleted its oldest states; the rest may still continue from the workspace's state.
  const oldest = Math.min(...history.map((version) => version.serial))
  if (newest.serial < oldest && stateIdentity(await read(first), first).lineage === own.lineage) return history
  throw refused(`its states have diverged: the source has no state with its serial ${newest.serial}`)
}

/** Number of versions that are not in the workspace and will not be written. */
export function countLeftOut(prepared: PreparedWorkspace, unneeded: readonly TransferredVersion[]) {
  const serials = new Set(prepared.present?.versions.map((version) => version.serial))
  if (!prepared.present) return 0
  return unneeded.filter((version) => !prepared.arrived.has(version.id) && !serials.has(version.serial)).length
}

/** Serial and lineage of the state itself, or those of the server if it cannot be parsed. */
export function stateIdentity(raw: Buffer, version: TransferredVersion) {
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
