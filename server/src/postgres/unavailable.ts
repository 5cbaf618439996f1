import { StartError } from '../start-error.ts'

/**
 * The embedded PostgreSQL cannot serve. The message is for the person who starts the server: it says what is wrong and
 * that GROUNDSTATE_DATABASE_URL is the way around, so it is printed without a stack.
 */
export class PostgresUnavailable extends StartError {
  override name = 'PostgresUnavailable'

  constructor(reason: string, options: ErrorOptions & { remedy?: string } = {}) {
    const advice = options.remedy ?? 'set GROUNDSTATE_DATABASE_URL to use a PostgreSQL of your own'
    super(`the embedded PostgreSQL cannot start: ${reason}`, { ...options, advice })
  }
}

/** Puts a failure of the file system or of PostgreSQL's own output into words; a full disk is the one users meet. */
export function unavailable(doing: string, cause: unknown): StartError {
  if (cause instanceof StartError) return cause
  const text = cause instanceof Error ? cause.message : String(cause)
  if (/ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/.test(text)) {
    return new PostgresUnavailable(`the disk is full (while ${doing})`, {
      cause,
      remedy: 'free some space and start again',
    })
  }
  return new PostgresUnavailable(`${doing} failed: ${text}`, { cause })
}
