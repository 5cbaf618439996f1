import { sql } from 'kysely'
import { pino } from 'pino'
import { inject } from 'vitest'
import { type App, createApp } from '../app.ts'
import type { Config } from '../config.ts'
import { LOADERS, REACTIONS, ROUTES } from '../features/list.ts'
import { createServer, type Server } from '../http/server.ts'
import type { TestApp } from './app.ts'
import { atEnd } from './cleanup.ts'
import { databaseUrl } from './database.ts'

type ReplicaOptions = {
  /** Starts a proxy for the database and returns its URL. */
  reach?: (databaseUrl: string) => Promise<string>
  /** Settings in which it differs. */
  settings?: Partial<Config>
}

/** Another server on the app's database and clock, like a separate process. */
export async function createReplica(
  app: TestApp,
  { reach, settings }: ReplicaOptions = {},
): Promise<Server & { app: App & AsyncDisposable }> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const options = {
    databaseUrl: (await reach?.(url)) ?? url,
    baseUrl: app.baseUrl,
    log: pino({ level: 'silent' }),
    runsJobs: false,
    reactions: REACTIONS,
  }
  // Proxies can read statements that are not prepared.
  const config = { ...app.config, ...(reach && { databasePrepared: false }), ...settings }
  const replica = await createApp(config, options, { now: app.clock.now })
  const server = await createServer(replica, { routes: ROUTES, loaders: LOADERS })
  atEnd(async () => {
    await server.fastify.close()
    await replica[Symbol.asyncDispose]()
  })
  return { ...server, app: replica }
}
