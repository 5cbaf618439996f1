/** The agent's own log. */
export type AgentLog = {
  debug: (facts: object, message: string) => void
  info: (facts: object, message: string) => void
  warn: (facts: object, message: string) => void
  error: (facts: object, message: string) => void
}

/** The agent's log on another, such as a pino logger: errors become their text, since loggers differ in what they make of them. */
export function createAgentLog(log: AgentLog): AgentLog {
  return {
    debug: (facts, message) => log.debug(plain(facts), message),
    info: (facts, message) => log.info(plain(facts), message),
    warn: (facts, message) => log.warn(plain(facts), message),
    error: (facts, message) => log.error(plain(facts), message),
  }
}

function plain(facts: object): object {
  const entries = Object.entries(facts).map(([key, value]) => [
    key,
    value instanceof Error ? (value.stack ?? value.message) : value,
  ])
  return Object.fromEntries(entries)
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
type LogLevel = (typeof LEVELS)[number]

/** The log of a stand-alone agent on its standard output, one line per event. */
export function createLineLog({ level, json }: { level: LogLevel; json: boolean }): AgentLog {
  const write = (wanted: LogLevel) => {
    if (LEVELS.indexOf(wanted) < LEVELS.indexOf(level)) return () => {}
    return (facts: object, message: string) => {
      const time = new Date().toISOString()
      const line = json
        ? JSON.stringify({ time, level: wanted, message, ...facts })
        : `${time} ${wanted.toUpperCase().padEnd(5)} ${message}${factsText(facts)}`
      process.stdout.write(`${line}\n`)
    }
  }
  return createAgentLog({ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') })
}

function factsText(facts: object): string {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return known
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`)
    .join('')
}

function quoted(text: string): string {
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)
}
