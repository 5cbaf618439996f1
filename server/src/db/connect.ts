import pg from 'pg'
import { StartError } from '../start-error.ts'

const CONNECT_TIMEOUT_MS = 10_000

const NETWORK_REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing is listening there',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ETIMEDOUT: 'it does not respond',
  EHOSTUNREACH: 'there is no route to it',
}

/** Connects to the database at `url`. Throws a `StartError`, whose message never contains the password. */
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
    throw new StartError(`can't use the database ${databaseName(client)}: ${reasonOf(cause)}`, {
      cause,
      advice: 'check GROUNDSTATE_DATABASE_URL',
    })
  }
}

/** Describes the database of a client in messages. */
export function databaseName(client: pg.Client) {
  return `${client.host}:${client.port}/${client.database ?? ''}`
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return NETWORK_REASONS[code] ?? (error.message.split('\n', 1)[0] || code)
}
