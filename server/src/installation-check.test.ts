import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createApp } from './app.ts'
import { readConfig } from './config.ts'
import { migrate } from './db/migrate.ts'
import { createInstallationCheck, requireSameInstallation } from './installation.ts'
import type { StartError } from './start-error.ts'
import { createTestDatabase, execute } from './testing/database.ts'

/** A running server, and a promise of the reason for which it must stop. */
async function startServer(settings: Record<string, string> = {}) {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-fence-'))
  const config = readConfig({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_SECRET: '11'.repeat(32), ...settings })
  await migrate(database.url, { afterwards: (client) => requireSameInstallation(client, config) })
  const refused = Promise.withResolvers<StartError>()
  const fence = { admit: await createInstallationCheck(config), onRefused: refused.resolve }
  const log = pino({ level: 'silent' })
  const options = { databaseUrl: database.url, baseUrl: '', log, runsJobs: false, reactions: [], fence }
  const app = await createApp(config, options)
  onTestFinished(async () => {
    await app[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  })
  /** Loses the connection by which others see the server, as in a failover of the database. */
  const disconnect = async () =>
    execute(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'groundstate-signals %'`,
    )
  return { app, url: database.url, refused: refused.promise, disconnect }
}

test.each([
  [
    'the blobs are in another store',
    `update installation set blob_store_id = 'another'`,
    /have been moved to another store/,
  ],
  [
    'the secret was retired',
    `update installation set retired_secret_marks = array[secret_mark]`,
    /the secret of this server \(id [0-9a-f]{8}\) has been replaced/,
  ],
])('a server that reconnects and finds that %s must stop', async (_, change, reason) => {
  const { url, refused, disconnect } = await startServer()

  await execute(url, change)
  await disconnect()

  expect((await refused).message).toMatch(reason)
})

test('a server that reconnects to a database with the same secret and store continues', async () => {
  const { app, disconnect } = await startServer()
  const gap = new Promise<void>((resolve) => {
    const listener = app.signals.onGap(() => {
      listener[Symbol.dispose]()
      resolve()
    })
  })

  await disconnect()
  await gap

  const received = new Promise<string>((resolve) => void app.signals.listen('fence-test', resolve))
  app.signals.publish(app.db, 'fence-test detail')
  expect(await received).toBe('detail')
})
