import { statfs } from 'node:fs/promises'
import { fileError } from '../directory.ts'
import { messageOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'

/** Free disk space without which PostgreSQL may not continue, in bytes: the segments of its write-ahead log have 16 MiB. */
const MIN_FREE = 17 * 1024 * 1024

/** Whether a full disk explains a failure of the PostgreSQL whose directory it is. */
export async function isDiskFull(home: string) {
  const disk = await statfs(home).catch(() => undefined)
  return disk !== undefined && disk.bavail * disk.bsize < MIN_FREE
}

/** The embedded PostgreSQL cannot start. Without another remedy, the message suggests GROUNDSTATE_DATABASE_URL. */
export class PostgresUnavailable extends StartError {
  override name = 'PostgresUnavailable'

  constructor(reason: string, options: ErrorOptions & { remedy?: string } = {}) {
    const advice = options.remedy ?? 'set GROUNDSTATE_DATABASE_URL to use your own PostgreSQL'
    super(`the embedded PostgreSQL cannot start: ${reason}`, { ...options, advice })
  }
}

/**
 * Translates an error of the file system or of PostgreSQL. The most common cause is a full disk. With `dataDir`, an error of a file is about the
 * data directory, not about PostgreSQL.
 */
export function postgresFailure(doing: string, cause: unknown, dataDir?: string): StartError {
  if (cause instanceof StartError) return cause
  const text = messageOf(cause)
  if (/ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/.test(text)) {
    return new PostgresUnavailable(`the disk is full (while ${doing})`, {
      cause,
      remedy: 'free some space and start again',
    })
  }
  const ofFile = dataDir === undefined ? undefined : fileError(cause, dataDir)
  return ofFile ?? new PostgresUnavailable(`${doing} failed: ${text}`, { cause })
}
