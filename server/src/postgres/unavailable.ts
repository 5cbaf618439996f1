import { StartError } from '../start-error.ts'

/**
 * The embedded PostgreSQL can't start. The message is for the person who starts the server, so it is printed without a
 * stack. It states the problem, and mentions GROUNDSTATE_DATABASE_URL as the alternative.
 */
export class PostgresUnavailable extends StartError {
  override name = 'PostgresUnavailable'

  constructor(reason: string, options: ErrorOptions & { remedy?: string } = {}) {
    const advice = options.remedy ?? 'set GROUNDSTATE_DATABASE_URL to use a PostgreSQL of your own'
    super(`the embedded PostgreSQL cannot start: ${reason}`, { ...options, advice })
  }
}

/** Turns an error of the file system or of PostgreSQL into a message. The most common cause is a full disk. */
export function postgresFailure(doing: string, cause: unknown): StartError {
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
