import { join } from 'node:path'
import { messageOf } from '../error-code.ts'
import { stateDirectory } from './state-directory.ts'
import {
  WorkspaceSkippedError,
  countLeftOut,
  findMissingVersions,
  md5Of,
  stateIdentity,
} from './state-missing-versions.ts'
import { type StateServerOptions, stateServer } from './state-server.ts'
import type {
  PreparedWorkspace,
  Progress,
  StateSource,
  StateTarget,
  TransferredVersion,
} from './state-source-and-target.ts'

export type TransferOptions = {
  /** All workspaces of the source by default. */
  workspaces?: readonly string[] | undefined
  /** Number of newest versions of each workspace; all by default. */
  latest?: number | undefined
  /** Whether to add versions to workspaces whose newest state is newer or not in the source. */
  replace?: boolean | undefined
  /** Called once source and target were checked. */
  onReady?: (() => void) | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  signal?: AbortSignal | undefined
}

export type TransferResult = {
  /** Number of completed workspaces. */
  workspaces: number
  versions: number
  bytes: number
  /** Number of versions that were transferred before. */
  skipped: number
  /** Number of versions that are older than existing ones. */
  leftOut: number
  /** Skipped workspaces. */
  refused: { workspace: string; reason: string }[]
}

/** Copies the states of an organization, with their history, into a directory. Continues an interrupted export. */
export async function exportStates(
  options: TransferOptions & { from: StateServerOptions; directory: string },
): Promise<TransferResult> {
  return transfer(stateServer(options.from), stateDirectory(options.directory, options.from), options)
}

/**
 * Copies states, with their history, from a directory or another server into an organization; missing workspaces are created. Serials, lineages and
 * all bytes are kept. An import continues after the newest state of each workspace, identified by its content or by `checkpointFile` (by default a
 * file in the directory, or none between servers). A workspace whose newest state is not in the source is skipped.
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
  const existing = await source.listWorkspaces()
  const missing = options.workspaces?.filter((name) => !existing.includes(name)) ?? []
  if (missing.length > 0) throw new Error(`the source has no workspace ${missing.join(', ')}`)
  const workspaces = options.workspaces ?? existing
  const result: TransferResult = { workspaces: 0, versions: 0, bytes: 0, skipped: 0, leftOut: 0, refused: [] }
  options.onReady?.()

  for (const [index, workspace] of workspaces.entries()) {
    const position = { workspace, workspaceNumber: index + 1, workspaces: workspaces.length }
    const report = (done: number, versions: number) =>
      options.onProgress?.({ ...position, done, versions, bytes: result.bytes })
    try {
      await transferWorkspace({ source, target, workspace, options, result, report })
      result.workspaces += 1
    } catch (error) {
      if (!(error instanceof WorkspaceSkippedError)) throw error
      result.refused.push({ workspace, reason: error.message })
    }
  }
  return result
}

type WorkspaceTransfer = {
  source: StateSource
  target: StateTarget
  workspace: string
  options: TransferOptions
  result: TransferResult
  report: (done: number, versions: number) => void
}

async function transferWorkspace({ source, target, workspace, options, result, report }: WorkspaceTransfer) {
  const history = await source.listVersions(workspace)
  const selected = options.latest === undefined ? history : history.slice(-options.latest)
  const prepared = await target.prepare(workspace)
  try {
    const replace = options.replace ?? false
    const missing = new Set(await findMissingVersions(source, prepared, { workspace, history, replace }))
    const existing = selected.filter((version) => !missing.has(version))
    const leftOut = countLeftOut(prepared, existing)
    result.leftOut += leftOut
    result.skipped -= leftOut
    report(0, selected.length)
    for (const [index, version] of selected.entries()) {
      options.signal?.throwIfAborted()
      if (missing.has(version)) result.bytes += await copy(source, prepared, workspace, version)
      else result.skipped += 1
      result.versions += 1
      report(index + 1, selected.length)
    }
  } catch (error) {
    // With an unfinished version, the server refuses to unlock. The first error is more important than that.
    const released = await prepared.release().then(
      () => true,
      () => false,
    )
    if (released || error instanceof WorkspaceSkippedError) throw error
    throw new Error(`${messageOf(error)}; the workspace ${workspace} stays locked`, { cause: error })
  }
  await prepared.release()
}

async function copy(source: StateSource, target: PreparedWorkspace, workspace: string, version: TransferredVersion) {
  const content = await source.readContent(workspace, version)
  await target.write({ ...version, md5: md5Of(content.raw), ...stateIdentity(content.raw, version) }, content)
  return content.raw.length
}
