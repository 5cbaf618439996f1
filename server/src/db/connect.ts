import pg from 'pg'
import { StartError } from '../start-error.ts'

/** The time limit of a connection attempt, in ms. */
const CONNECT_TIMEOUT_MS = 10_000

const ADVICE = 'check GROUNDSTATE_DATABASE_URL'

const NETWORK_REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'no way leads there',
}

/**
 * Connects to the database at `url`. Throws a `StartError` with the reason if that fails; the message never contains
 * the password.
 */
export async function connectDatabase(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // A later failure rejects the affected query. Without a listener, the event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (cause) {
    await client.end().catch(() => undefined)
    const reason = reasonOf(cause)
    throw new StartError(`can't use the database ${databaseName(client)}: ${reason}`, { cause, advice: ADVICE })
  }
}

/** The place of a client's database, for messages. */
export function databaseName(client: pg.Client) {
  return `${client.host}:${client.port}/${client.database ?? ''}`
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return NETWORK_REASONS[code] ?? (error.message.split('\n', 1)[0] || code)
}
