import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

/** The maximum of unwritten log kept in memory, in bytes, such as while the disk is full. More is dropped. */
const BACKLOG_BYTES = 1024 * 1024

export type LogOptions = {
  level: pino.LevelWithSilent
  /** Lines for people instead of JSON. */
  readable: boolean
}

/** The server's log, on an open file descriptor. */
export function createLog(fd: number, { level, readable }: LogOptions) {
  const output = createOutput(fd)
  return pino({ level }, { write: (line) => output(readable ? readableLine(line) : line) })
}

/**
 * Writes immediately. Output that can't be written is kept for the next line: a closed terminal or a full disk must not
 * stop the server. pino's own destination would not try again once its buffer is full.
 */
function createOutput(fd: number) {
  let backlog = Buffer.alloc(0)
  return (line: string) => {
    if (backlog.length + Buffer.byteLength(line) <= BACKLOG_BYTES) backlog = Buffer.concat([backlog, Buffer.from(line)])
    try {
      while (backlog.length > 0) backlog = backlog.subarray(writeSync(fd, backlog))
    } catch {}
  }
}

/** Formats a line of JSON as `groundstate: <level>: <message> (key=value …)`. Errors are shown without their stacks. */
function readableLine(json: string): string {
  const { level, time: _time, pid: _pid, hostname: _host, msg, ...facts } = JSON.parse(json) as Record<string, unknown>
  const details = Object.entries(facts).map(([key, value]) => `${key}=${valueText(value)}`)
  const text = [
    `groundstate: ${pino.levels.labels[Number(level)] ?? String(level)}:`,
    ...(typeof msg === 'string' ? [msg] : []),
    ...(details.length === 0 ? [] : [`(${details.join(' ')})`]),
  ].join(' ')
  // Control characters could send commands to the terminal.
  return `${text.replaceAll(/\p{Cc}+/gu, ' ')}\n`
}

function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'stack' in value && 'message' in value)
    return JSON.stringify(value.message)
  return typeof value === 'string' && /^[^\s"()=]+$/.test(value) ? value : JSON.stringify(value)
}

export type Log = Logger

/**
 * The loggable part of an unexpected error. PostgreSQL puts values of the row into `detail`, and sometimes into the
 * message. Of its errors only the fields that name the place are kept.
 */
export function loggedError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error ? error.code : undefined
  const isDatabase = 'severity' in error && typeof code === 'string'
  const message = isDatabase ? error.message.replace(/(["']).*\1/s, '$1…$1') : error.message
  return {
    type: error.name,
    message,
    stack: (error.stack ?? '').replace(error.message, message),
    ...(code !== undefined && { code }),
    ...('constraint' in error && { constraint: error.constraint }),
    ...('table' in error && { table: error.table }),
    ...('column' in error && { column: error.column }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: loggedError(error.cause, depth + 1) }),
  }
}

/** The maximum number of nested causes that are logged. */
export const MAX_CAUSES = 5
