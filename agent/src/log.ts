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
