import { VERSION } from '@groundstate/agent/build'
import { sql } from 'kysely'
import { MIGRATIONS } from '../migrations/list.ts'
import type { Config } from './config.ts'
import { type Db, transact } from './db/db.ts'
import { LIVE_SERVERS } from './db/sessions.ts'
import { type Log, loggedError } from './log.ts'
import type { Signals } from './signals.ts'
import { StartError } from './start-error.ts'

type ServerContext = { db: Db; signals: Signals; config: Config; log: Log }

/** Settings of which all running servers must have the same value. */
const SHARED = { base_url: 'GROUNDSTATE_BASE_URL', issuer_url: 'GROUNDSTATE_ISSUER_URL' } as const

type RunningServer = {
  id: string
  address: string | null
  version: string
  base_url: string | null
  issuer_url: string | null
}

/**
 * Registers this server, which must be listening for signals, until it has no connection for that any more. Throws a `StartError` if a running
 * server has another base URL or issuer: links and identity tokens would depend on the server that created them.
 */
export async function registerServer(
  ctx: ServerContext,
  onRefused: (error: StartError) => void = () => {},
): Promise<Disposable> {
  const own = ownRow(ctx)
  const others = await register(ctx, own)
  if (others.length > 0 && own.base_url === null) {
    ctx.log.warn(
      'several servers run without GROUNDSTATE_BASE_URL, so that links depend on the server: set it to their common address',
    )
  }
  // A server that started while this one had no connection has deleted its row.
  return ctx.signals.onGap(() => {
    register(ctx, own).catch((error: unknown) => {
      if (error instanceof StartError) onRefused(error)
      else ctx.log.warn({ err: loggedError(error) }, 'registering this server')
    })
  })
}

/** Returns the other running servers. Throws a `StartError` if one of them has another base URL or issuer. */
async function register(ctx: ServerContext, own: ReturnType<typeof ownRow>) {
  return transact(ctx, async ({ db }) => {
    // Of two servers that start concurrently, the second finds the first.
    await sql`lock table servers in share row exclusive mode`.execute(db)
    await sql`delete from servers s where s.id <> ${own.id} and not exists (select from ${sql.raw(LIVE_SERVERS)} l where l.id = s.id)`.execute(
      db,
    )
    const { rows } = await sql<RunningServer>`
      select s.id, l.address, s.version, s.base_url, s.issuer_url from servers s join ${sql.raw(LIVE_SERVERS)} l on l.id = s.id
       where s.id <> ${own.id} order by s.started_at, s.id`.execute(db)
    for (const running of rows) checkShared(running, own)
    await insert(db, own)
    return rows
  })
}

function ownRow({ signals, config }: ServerContext) {
  return {
    id: signals.id,
    version: VERSION,
    role: config.role,
    base_url: config.baseUrl ?? null,
    issuer_url: config.issuerUrl ?? null,
    migration:
      MIGRATIONS.map(({ name }) => name)
        .toSorted()
        .at(-1) ?? '',
    started_at: new Date(),
  }
}

function checkShared(running: RunningServer, own: ReturnType<typeof ownRow>) {
  const server = `the running server ${running.id} (version ${running.version}${running.address === null ? '' : ` at ${running.address}`})`
  for (const [column, name] of Object.entries(SHARED) as [keyof typeof SHARED, string][]) {
    if (running[column] === own[column]) continue
    throw new StartError(`${name} is ${own[column] ?? 'not set'}, and ${server} has ${running[column] ?? 'none'}`, {
      advice: 'set it to the same value for all servers; to change it, stop all of them first',
    })
  }
}

async function insert(db: Db, row: ReturnType<typeof ownRow>) {
  await db
    .insertInto('servers')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
