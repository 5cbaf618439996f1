import { writeSync } from 'node:fs'
import { logFields } from '@groundstate/agent/log-fields'
import { type Logger, pino } from 'pino'

/** Maximum size of unwritten log kept in memory, in bytes, such as while the disk is full. More is dropped. */
const BACKLOG_BYTES = 1024 * 1024

/** The form of the lines of an agent, so that one pipeline parses both. */
const FORM: pino.LoggerOptions = {
  messageKey: 'message',
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
  serializers: { err: (error: Error) => (error instanceof Error ? concise(pino.stdSerializers.err(error)) : error) },
}

/** Advice that Node.js adds to its messages on certificates: an operator has settings, not options of Node.js. */
const NODE_ADVICE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca/g

/** Omits the certificates of errors about TLS, which are kilobytes. */
function concise(error: object): object {
  const fields = Object.entries(error).filter(([name]) => name !== 'cert')
  return Object.fromEntries(
    fields.map(([name, value]: [string, unknown]) => {
      if (typeof value === 'string') return [name, value.replaceAll(NODE_ADVICE, '')]
      return [name, typeof value === 'object' && value !== null && 'stack' in value ? concise(value) : value]
    }),
  )
}

/** `readable` selects human-readable lines instead of JSON. */
export type LogOptions = { level: pino.LevelWithSilent; readable: boolean }
export type Log = Logger

export function createLog(fd: number, { level, readable }: LogOptions) {
  const output = createOutput(fd)
  return pino(
    { ...FORM, level, mixin: () => ({ ...logFields() }), hooks: { logMethod: limitOutages() } },
    { write: (line) => output(readable ? readableLine(line) : line) },
  )
}

/** Errors that all requests and jobs meet while the database is down or its disk is full: SQLSTATEs or messages. */
const OUTAGE = /^(?:53[1-3]00|57P0\d|(?:connect|read) E.*|Connection terminated.*|timeout exceeded when trying.*)$/
const OUTAGE_INTERVAL_MS = 5_000
/** Time without a line after which an outage is another one, in ms. */
const OUTAGE_END_MS = 60_000

/** Logs the reason of an outage at most every few seconds, and its stack once. `repeated` is the number of lines that were dropped. */
function limitOutages() {
  const outages = new Map<string, { at: number; repeated: number }>()
  return function (this: Logger, args: Parameters<pino.LogFn>, method: pino.LogFn) {
    const [fields, ...rest] = args as unknown[]
    const error = (fields as { err?: { code?: unknown; message?: unknown } } | undefined)?.err
    const reason = error && [error.code, error.message].map(String).find((text) => OUTAGE.test(text))
    if (error === undefined || reason === undefined) return method.apply(this, args)
    const now = performance.now()
    const last = outages.get(reason)
    if (last && now - last.at < OUTAGE_INTERVAL_MS) return void (last.repeated += 1)
    // Reasons can contain addresses, of any number of receivers.
    if (outages.size > 1000) outages.clear()
    outages.set(reason, { at: now, repeated: 0 })
    if (!last || now - last.at > OUTAGE_END_MS) return method.apply(this, args)
    const { code, message } = error
    const line = { ...(fields as object), err: { code, message }, repeated: last.repeated }
    return method.apply(this, [line, ...rest] as unknown as Parameters<pino.LogFn>)
  }
}

/**
 * Writes immediately. Output that cannot be written is retried with the next line, since a closed terminal or a full disk must not stop the
 * server. pino's destination stops retrying once its buffer is full.
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
  const line = JSON.parse(json) as Record<string, unknown>
  const { level, time: _time, pid: _pid, hostname: _host, message, ...fields } = line
  const details = Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`)
  const text = [
    `groundstate: ${String(level)}:`,
    ...(typeof message === 'string' ? [message] : []),
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

const MAX_CAUSES = 5

/**
 * The loggable part of an unexpected error. PostgreSQL puts values of the row into `detail` and sometimes into the message, so these are
 * removed from its errors.
 */
export function loggedError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error ? error.code : undefined
  const isDatabase = 'severity' in error && typeof code === 'string'
  const message = isDatabase ? error.message.replace(/(["']).*\1/s, '$1…$1') : error.message.replaceAll(NODE_ADVICE, '')
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
