import type { Config } from '../config.ts'
import { connectDatabase, databaseName } from '../db/connect.ts'
import { createDb } from '../db/db.ts'
import { createTokenOnCommandLine } from '../features/identity/tokens/service.ts'
import { StartError } from '../start-error.ts'
import { openDatabase } from './database.ts'

/**
 * Creates an API token directly in the database: access for someone who can read the data directory and has no token.
 * Works while a server is running; otherwise the embedded PostgreSQL is started for the command.
 */
export async function tokenCreateCommand(
  config: Config,
  options: { user: string; description: string; expires?: string | undefined },
): Promise<number> {
  const lifetime = options.expires === undefined ? undefined : durationMs(options.expires)
  await using database = await openDatabase(config)
  const { url } = database
  await requireTables(url)
  const db = createDb(url, { max: 1 })
  try {
    const expiresAt = lifetime === undefined ? undefined : new Date(Date.now() + lifetime)
    const token = await createTokenOnCommandLine(db, {
      username: options.user,
      description: options.description,
      expiresAt,
    })
    process.stdout.write(`${token}\n`)
    return 0
  } finally {
    await db.destroy()
  }
}

async function requireTables(url: string) {
  const client = await connectDatabase(url, 'groundstate-token')
  try {
    const { rows } = await client.query(`select where to_regclass('public.users') is not null`)
    if (rows.length > 0) return
    throw new StartError(`the database ${databaseName(client)} has no tables of Groundstate`, {
      advice: 'start the server with it first',
    })
  } finally {
    await client.end()
  }
}

/** A hundred years. */
const MAX_DAYS = 36_500
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function durationMs(text: string) {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? []
  if (unit !== 'm' && unit !== 'h' && unit !== 'd')
    throw new StartError(`--expires ${text}: it must be a number and m, h or d, such as 30d`)
  const ms = Number(count) * UNIT_MS[unit]
  if (ms === 0)
    throw new StartError(
      `--expires ${text}: such a token would be of no use; leave it out for one that does not expire`,
    )
  if (ms > MAX_DAYS * UNIT_MS.d)
    throw new StartError(
      `--expires ${text}: it must be ${MAX_DAYS}d at most; leave it out for a token that does not expire`,
    )
  return ms
}
