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

const [OLD, NEW] = ['11', '22'].map((byte) => byte.repeat(32)) as [string, string]
const CHANGED = { GROUNDSTATE_SECRET: NEW, GROUNDSTATE_PREVIOUS_SECRETS: OLD }

/** A running server, and a promise of the reason for which it must stop. */
async function startServer(settings: Record<string, string> = {}) {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-fence-'))
  const site = { GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_SECRET: OLD, ...settings }
  const config = readConfig(site)
  /** Starts another server as far as its check of the installation. */
  const startAnother = async (other: Record<string, string>) =>
    migrate(database.url, {
      afterwards: (client) => requireSameInstallation(client, readConfig({ ...site, ...other })),
    })
  await startAnother({})
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
  return { app, startAnother, url: database.url, refused: refused.promise, disconnect }
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
    /the secret in GROUNDSTATE_SECRET \(id [0-9a-f]{8}\) has been replaced/,
  ],
  [
    'another server encrypts with a secret that it lacks',
    `update installation set next_secret_mark = 'unknown', next_secret_id = '01234567'`,
    /already encrypts with a new secret \(id 01234567\), which this server does not have/,
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

test('a server with a secret that a running one lacks is refused until that one has it or has stopped', async () => {
  const old = await startServer()
  const prepared = await startServer({ GROUNDSTATE_PREVIOUS_SECRETS: NEW })

  const refused = old.startAnother(CHANGED)

  await expect(refused).rejects.toThrow(
    new RegExp(
      `the running server ${old.app.signals.id} .*does not have the secret in GROUNDSTATE_SECRET \\(id .*; .*step 1 of "Rotate the secret"`,
    ),
  )
  await expect(old.startAnother({})).resolves.toBeDefined()
  await expect(prepared.startAnother(CHANGED)).resolves.toBeDefined()
  await old.app.signals[Symbol.asyncDispose]()
  await expect(old.startAnother(CHANGED)).resolves.toBeDefined()
})
