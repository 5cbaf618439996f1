import type { Config } from '../config.ts'
import { connectDatabase, databaseName } from '../db/connect.ts'
import { createDb } from '../db/db.ts'
import { createCliToken } from '../features/identity/tokens/service.ts'
import { StartError } from '../start-error.ts'
import { openDatabase } from './database.ts'

/** Creates an API token directly in the database, for users who can read the data directory and have no token. */
export async function tokenCreateCommand(
  config: Config,
  options: { user: string; description: string; expires?: string | undefined },
): Promise<number> {
  const lifetime = options.expires === undefined ? undefined : durationMs(options.expires)
  await using database = await openDatabase(config)
  await requireTables(database.url)
  const db = createDb(database.url)
  try {
    const { user: username, description } = options
    const expiresAt = lifetime === undefined ? undefined : new Date(Date.now() + lifetime)
    process.stdout.write(`${await createCliToken(db, { username, description, expiresAt })}\n`)
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
    throw new StartError(`the database ${databaseName(client)} has no Groundstate tables`, {
      advice: 'start the server with it first',
    })
  } finally {
    await client.end()
  }
}

const MAX_DAYS = 36_500
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function durationMs(text: string) {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? []
  if (unit !== 'm' && unit !== 'h' && unit !== 'd')
    throw new StartError(`--expires ${text}: it must be a number and m, h or d, such as 30d`)
  const ms = Number(count) * UNIT_MS[unit]
  if (ms === 0 || ms > MAX_DAYS * UNIT_MS.d)
    throw new StartError(`--expires ${text}: it must be from 1m to ${MAX_DAYS}d; omit it for a token without expiry`)
  return ms
}
