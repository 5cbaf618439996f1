import { z } from 'zod'

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
  /**
   * Gets a workspace ready for versions, and tells which of the source's have arrived before. Throws `WorkspaceRefusal`
   * when it can't be written to.
   */
  prepare: (workspace: string) => Promise<PreparedWorkspace>
}

export type PreparedWorkspace = {
  /** Versions of the source that are known to have arrived, each with its id here. */
  arrived: ReadonlyMap<string, string>
  /** What a workspace has already, the oldest first; absent where versions only lie side by side, as in a folder. */
  present?: { versions: TransferredVersion[]; readRaw: (version: TransferredVersion) => Promise<Buffer> }
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
