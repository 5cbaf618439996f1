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

/** A version during a transfer; `md5` and `lineage` may be unknown until its content is read. */
export type TransferredVersion = z.infer<typeof transferredVersion>

export type VersionContent = { raw: Buffer; json: Buffer | undefined }

export type StateSource = {
  /** Throws, with a reason for the user, if the source cannot be read. */
  check: () => Promise<void>
  listWorkspaces: () => Promise<string[]>
  /** The finalized versions of a workspace, oldest first. */
  listVersions: (workspace: string) => Promise<TransferredVersion[]>
  readContent: (workspace: string, version: TransferredVersion) => Promise<VersionContent>
}

export type StateTarget = {
  check: () => Promise<void>
  /** Prepares a workspace for new versions. Throws `WorkspaceSkippedError` if it cannot be written to. */
  prepare: (workspace: string) => Promise<PreparedWorkspace>
}

export type PreparedWorkspace = {
  /** Ids of the source's versions that were transferred before, with their ids in the target. */
  arrived: ReadonlyMap<string, string>
  /** The versions in the workspace, oldest first. Absent if versions are independent, as in a directory. */
  present?: { versions: TransferredVersion[]; readRaw: (version: TransferredVersion) => Promise<Buffer> }
  /** Writes a version and records its completion. */
  write: (version: TransferredVersion, content: VersionContent) => Promise<void>
  release: () => Promise<void>
}

/** Reported at the start of a workspace and after each version; `done` includes versions of earlier attempts. */
export type Progress = {
  workspace: string
  /** Position of the workspace, from 1. */
  workspaceNumber: number
  workspaces: number
  done: number
  versions: number
  bytes: number
}
