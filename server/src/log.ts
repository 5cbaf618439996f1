import { writeSync } from 'node:fs'
import { pino, type Logger } from 'pino'

/** So much, in bytes, is kept of a log that can't be written, since its disk is full for one; what comes then is dropped. */
const BACKLOG_BYTES = 1024 * 1024

export type LogOptions = {
  level: pino.LevelWithSilent
  /** Lines for a person to read, in place of JSON. */
  readable: boolean
}

/** The server's log, on an open file descriptor. */
export function createLog(fd: number, { level, readable }: LogOptions) {
  const output = createOutput(fd)
  return pino({ level }, { write: (line) => output(readable ? readableLine(line) : line) })
}

/**
 * Writes at once. What can't be written now goes along with a later line; a terminal that has gone away, or a full disk, is no
 * reason to stop. pino's own destination would not try again once its buffer is full.
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

/** A line of JSON as `groundstate: <level>: <message> (key=value …)`; of errors only the message, stacks are for files. */
function readableLine(json: string): string {
  const { level, time: _time, pid: _pid, hostname: _host, msg, ...facts } = JSON.parse(json) as Record<string, unknown>
  const details = Object.entries(facts).map(([key, value]) => `${key}=${valueText(value)}`)
  const text = [
    `groundstate: ${pino.levels.labels[Number(level)] ?? String(level)}:`,
    ...(typeof msg === 'string' ? [msg] : []),
    ...(details.length === 0 ? [] : [`(${details.join(' ')})`]),
  ].join(' ')
  // Nothing that was logged may give the terminal orders.
  return `${text.replaceAll(/\p{Cc}+/gu, ' ')}\n`
}

function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'stack' in value && 'message' in value)
    return JSON.stringify(value.message)
  return typeof value === 'string' && /^[^\s"()=]+$/.test(value) ? value : JSON.stringify(value)
}

export type Log = Logger
