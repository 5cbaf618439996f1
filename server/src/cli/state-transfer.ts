import { join } from 'node:path'
import { messageOf } from './state-api.ts'
import { stateDirectory } from './state-directory.ts'
import { WorkspaceRefusal, countLeftOut, findMissingVersions, md5Of, stateIdentity } from './state-missing-versions.ts'
import { type StateServerOptions, stateServer } from './state-server.ts'
import type {
  PreparedWorkspace,
  Progress,
  StateSource,
  StateTarget,
  TransferredVersion,
} from './state-source-and-target.ts'

export type TransferOptions = {
  /** The workspaces to transfer; all of the source by default. */
  workspaces?: readonly string[] | undefined
  /** The number of newest versions of each workspace to transfer; all by default. */
  latest?: number | undefined
  /** Whether to write on top of states that the source does not know, or that are newer. */
  replace?: boolean | undefined
  /** Called once both places have been checked. */
  onReady?: (() => void) | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  signal?: AbortSignal | undefined
}

export type TransferResult = {
  /** The number of workspaces that now have all of their states. */
  workspaces: number
  versions: number
  bytes: number
  /** The number of versions that had arrived before. */
  skipped: number
  /** The number of versions skipped because they are older than the existing ones. */
  leftOut: number
  /** The workspaces that were skipped. */
  refused: { workspace: string; reason: string }[]
}

/**
 * Copies the states of an organization into a directory, with their history. Continues where an earlier export stopped.
 */
export async function exportStates(
  options: TransferOptions & { from: StateServerOptions; directory: string },
): Promise<TransferResult> {
  return transfer(stateServer(options.from), stateDirectory(options.directory, options.from), options)
}

/**
 * Copies states, with their history, from a directory or another server into an organization; missing workspaces are
 * created. Serials, lineages and all bytes are kept. An import continues where an earlier one stopped: after the newest
 * state of each workspace, found by its content or by `checkpointFile`. This is by default a file in the directory; from
 * server to server there is no default. A workspace whose newest state the source does not know is skipped.
 */
export async function importStates(
  options: TransferOptions & { from: { directory: string } | StateServerOptions; to: StateServerOptions },
): Promise<TransferResult> {
  const { from, to } = options
  if (!('directory' in from)) return transfer(stateServer(from), stateServer(to), options)
  const checkpointFile =
    to.checkpointFile ??
    join(from.directory, `.imported-${new URL(to.url).host.replaceAll(':', '-')}-${to.organization}`)
  return transfer(stateDirectory(from.directory), stateServer({ ...to, checkpointFile }), options)
}

async function transfer(source: StateSource, target: StateTarget, options: TransferOptions): Promise<TransferResult> {
  await source.check()
  await target.check()
  const known = await source.listWorkspaces()
  const missing = options.workspaces?.filter((name) => !known.includes(name)) ?? []
  if (missing.length > 0) throw new Error(`there is no workspace ${missing.join(', ')} to take states from`)
  const workspaces = options.workspaces ?? known
  const result: TransferResult = { workspaces: 0, versions: 0, bytes: 0, skipped: 0, leftOut: 0, refused: [] }
  options.onReady?.()

  for (const [index, workspace] of workspaces.entries()) {
    const report = (done: number, versions: number) =>
      options.onProgress?.({
        workspace,
        workspaceNumber: index + 1,
        workspaces: workspaces.length,
        done,
        versions,
        bytes: result.bytes,
      })
    try {
      await transferWorkspace({ source, target, workspace, options, result, report })
      result.workspaces += 1
    } catch (error) {
      if (!(error instanceof WorkspaceRefusal)) throw error
      result.refused.push({ workspace, reason: error.message })
    }
  }
  return result
}

async function transferWorkspace({
  source,
  target,
  workspace,
  options,
  result,
  report,
}: {
  source: StateSource
  target: StateTarget
  workspace: string
  options: TransferOptions
  result: TransferResult
  report: (done: number, versions: number) => void
}) {
  const history = await source.listVersions(workspace)
  const chosen = options.latest === undefined ? history : history.slice(-options.latest)
  const prepared = await target.prepare(workspace)
  try {
    const replace = options.replace ?? false
    const lacking = new Set(await findMissingVersions(source, prepared, { workspace, history, replace }))
    const leftOut = countLeftOut(
      prepared,
      chosen.filter((version) => !lacking.has(version)),
    )
    result.leftOut += leftOut
    result.skipped -= leftOut
    report(0, chosen.length)
    for (const [position, version] of chosen.entries()) {
      options.signal?.throwIfAborted()
      if (lacking.has(version)) result.bytes += await copy(source, prepared, workspace, version)
      else result.skipped += 1
      result.versions += 1
      report(position + 1, chosen.length)
    }
  } catch (error) {
    // An unfinished version keeps the lock. Its own error is more important than the failure to unlock.
    const released = await prepared.release().then(
      () => true,
      () => false,
    )
    if (released || error instanceof WorkspaceRefusal) throw error
    throw new Error(`${messageOf(error)}; the workspace ${workspace} stays locked`, { cause: error })
  }
  await prepared.release()
}

async function copy(source: StateSource, target: PreparedWorkspace, workspace: string, version: TransferredVersion) {
  const content = await source.readContent(workspace, version)
  await target.write({ ...version, md5: md5Of(content.raw), ...stateIdentity(content.raw, version) }, content)
  return content.raw.length
}
