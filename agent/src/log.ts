import { logFields } from './log-fields.ts'

type LogFields = object

export type AgentLog = Record<LogLevel, (fields: LogFields, message: string) => void>

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
type LogLevel = (typeof LEVELS)[number]

/** An agent log that writes to another, such as a pino logger. Replaces errors by their stack, since loggers format them differently. */
export function createAgentLog(log: AgentLog): AgentLog {
  return logOf((level) => (fields, message) => log[level](plain(fields), message))
}

function logOf(write: (level: LogLevel) => AgentLog[LogLevel]): AgentLog {
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

function plain(fields: LogFields): LogFields {
  const textOf = (value: unknown) => (value instanceof Error ? (value.stack ?? value.message) : value)
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, textOf(value)]))
}

/** The log of a standalone agent on standard output, one line per event. */
export function createLineLog({ level: minimum, json }: { level: LogLevel; json: boolean }): AgentLog {
  const write = (level: LogLevel) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minimum)) return () => {}
    return (given: LogFields, message: string) => {
      const fields = { ...logFields(), ...given }
      const time = new Date().toISOString()
      const line = json
        ? JSON.stringify({ time, level, message, ...fields })
        : `${time} ${level.toUpperCase().padEnd(5)} ${message}${fieldsText(fields)}`
      process.stdout.write(`${line}\n`)
    }
  }
  return createAgentLog(logOf(write))
}

function fieldsText(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`)
    .join('')
}

function quoted(text: string): string {
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}
