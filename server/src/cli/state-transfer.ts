import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { stateFolder } from './state-folder.ts'
import { stateServer, type StateServerOptions } from './state-server.ts'

export const transferredVersion = z.object({
  id: z.string(),
  serial: z.int(),
  createdAt: z.string(),
  size: z.int(),
  intermediate: z.boolean(),
  md5: z.string(),
  lineage: z.string().nullable(),
  hasJson: z.boolean(),
})
/** One version on its way; `md5` and `lineage` are known once its content is. */
export type TransferredVersion = z.infer<typeof transferredVersion>
export type VersionContent = { raw: Buffer; json: Buffer | undefined }

export type StateSource = {
  /** Throws, with a reason for a person, when nothing can be read or written here. */
  check: () => Promise<void>
  listWorkspaces: () => Promise<string[]>
  /** The finalized versions of a workspace, the oldest first. */
  listVersions: (workspace: string) => Promise<TransferredVersion[]>
  readContent: (workspace: string, version: TransferredVersion) => Promise<VersionContent>
}

export type StateTarget = {
  check: () => Promise<void>
  /** Gets a workspace ready for versions, and tells which of the source's have arrived before. */
  prepare: (workspace: string) => Promise<PreparedWorkspace>
}
export type PreparedWorkspace = {
  done: ReadonlySet<string>
  /** The version is complete, and remembered, when it resolves. */
  write: (version: TransferredVersion, content: VersionContent) => Promise<void>
  release: () => Promise<void>
}

/** Told when a workspace is begun and after each version; `done` counts those of earlier attempts too. */
export type Progress = {
  workspace: string
  /** Workspaces, counted from 1. */
  workspaceNumber: number
  workspaces: number
  done: number
  versions: number
  bytes: number
}

export type TransferOptions = {
  /** Only these workspaces; all of the source by default. */
  workspaces?: readonly string[] | undefined
  /** Only the newest so many versions of each; the whole history by default. */
  latest?: number | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  signal?: AbortSignal | undefined
}

export type TransferResult = { workspaces: number; versions: number; bytes: number; skipped: number }

/** Copies the states of an organization into a folder, with their history. Goes on where an earlier export stopped. */
export async function exportStates(
  options: TransferOptions & { from: StateServerOptions; folder: string },
): Promise<TransferResult> {
  return transfer(stateServer(options.from), stateFolder(options.folder), options)
}

/**
 * Copies states, with their history, from a folder or another server into an organization; workspaces that are missing
 * are created. Serials, lineages and every byte are kept. Goes on where an earlier import stopped: what has arrived is
 * noted in `checkpointFile`, by default a file in the folder; from server to server there is no default.
 */
export async function importStates(
  options: TransferOptions & { from: { folder: string } | StateServerOptions; to: StateServerOptions },
): Promise<TransferResult> {
  const { from, to } = options
  if (!('folder' in from)) return transfer(stateServer(from), stateServer(to), options)
  const checkpointFile =
    to.checkpointFile ?? join(from.folder, `.imported-${new URL(to.url).host.replaceAll(':', '-')}-${to.organization}`)
  return transfer(stateFolder(from.folder), stateServer({ ...to, checkpointFile }), options)
}

async function transfer(source: StateSource, target: StateTarget, options: TransferOptions): Promise<TransferResult> {
  await source.check()
  await target.check()
  const known = await source.listWorkspaces()
  const missing = options.workspaces?.filter((name) => !known.includes(name)) ?? []
  if (missing.length > 0) throw new Error(`there is no workspace ${missing.join(', ')} to take states from`)
  const workspaces = options.workspaces ?? known
  const result: TransferResult = { workspaces: 0, versions: 0, bytes: 0, skipped: 0 }

  for (const [index, workspace] of workspaces.entries()) {
    const history = await source.listVersions(workspace)
    const versions = options.latest === undefined ? history : history.slice(-options.latest)
    const prepared = await target.prepare(workspace)
    const report = (count: number) =>
      options.onProgress?.({
        workspace,
        workspaceNumber: index + 1,
        workspaces: workspaces.length,
        done: count,
        versions: versions.length,
        bytes: result.bytes,
      })
    report(0)
    try {
      for (const [position, version] of versions.entries()) {
        options.signal?.throwIfAborted()
        if (prepared.done.has(version.id)) result.skipped += 1
        else result.bytes += await copy(source, prepared, workspace, version)
        result.versions += 1
        report(position + 1)
      }
    } finally {
      await prepared.release()
    }
    result.workspaces += 1
  }
  return result
}

async function copy(source: StateSource, target: PreparedWorkspace, workspace: string, version: TransferredVersion) {
  const content = await source.readContent(workspace, version)
  const md5 = createHash('md5').update(content.raw).digest('hex')
  await target.write({ ...version, md5, ...identity(content.raw, version) }, content)
  return content.raw.length
}

/** Serial and lineage as the state itself has them; the server's word counts for one that can't be read. */
function identity(raw: Buffer, version: TransferredVersion) {
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
