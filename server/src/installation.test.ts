import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { beginMove, findStoreId, storeOfKind } from './blobs/blob-store.ts'
import { createS3Server } from './blobs/testing/s3-server.ts'
import { readConfig } from './config.ts'
import { connectDatabase } from './db/connect.ts'
import { migrate } from './db/migrate.ts'
import { adoptInstallation, requireSameInstallation } from './installation.ts'
import { loadSecrets } from './secrets/secret-file.ts'
import { createSecrets } from './secrets/secrets.ts'
import { createTestDatabase, execute } from './testing/database.ts'

const SECRET = '11'.repeat(32)

async function newSite() {
  const top = await mkdtemp(join(tmpdir(), 'groundstate-installation-'))
  onTestFinished(() => rm(top, { recursive: true }))
  return { top, database: await newDatabase() }
}

async function newDatabase() {
  const database = await createTestDatabase()
  onTestFinished(() => database[Symbol.asyncDispose]())
  return database.url
}

type Where = { dataDir: string; [setting: string]: string }

/** Starts a server as far as its check of the installation. */
async function start(databaseUrl: string, { dataDir, ...settings }: Where) {
  const config = configOf({ dataDir, ...settings })
  await migrate(databaseUrl, { afterwards: (client) => requireSameInstallation(client, config) })
}

/** Starts a server whose connection fails at that statement; returns whether the start completed before. */
async function startUntil(databaseUrl: string, where: Where, statements: number) {
  await migrate(databaseUrl)
  const client = await connectDatabase(databaseUrl, 'test')
  let count = 0
  const cut = new Proxy(client, {
    get(target, name) {
      if (name !== 'query') return Reflect.get(target, name)
      return async (text: string, values?: unknown[]) => {
        if (count === statements) await client.end()
        count += 1
        return client.query(text, values)
      }
    },
  })
  try {
    await requireSameInstallation(cut, configOf(where))
    return true
  } catch (error) {
    if (count <= statements) throw error
    return false
  } finally {
    await client.end()
  }
}

function configOf({ dataDir, ...settings }: Where) {
  return readConfig({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_SECRET: SECRET, ...settings })
}

async function adopt(databaseUrl: string, where: Where) {
  const client = await connectDatabase(databaseUrl, 'test')
  try {
    await adoptInstallation(client, configOf(where))
  } finally {
    await client.end()
  }
}

/** Leaves the database as the previous version did. */
async function forgetStore(databaseUrl: string) {
  await execute(databaseUrl, 'update installation set blob_store_id = null, blob_store_place = null')
}

test('servers that share a directory of blobs share a database', async () => {
  const { database, top } = await newSite()

  await Promise.all([start(database, { dataDir: top }), start(database, { dataDir: top })])

  await expect(start(database, { dataDir: top })).resolves.toBeUndefined()
})

test('an interrupted first start can be repeated', async () => {
  const { top } = await newSite()
  let isWhole = false
  let statements = 0
  for (; !isWhole; statements += 1) {
    const database = await newDatabase()
    const where = { dataDir: join(top, String(statements)) }
    isWhole = await startUntil(database, where, statements)

    await expect(start(database, where)).resolves.toBeUndefined()
    await expect(start(database, { dataDir: join(top, 'other') })).rejects.toThrow('holds none')
  }
  expect(statements).toBeGreaterThan(5)
})

test('a first start that is interrupted before it writes into the directory can be repeated', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: top })
  await rm(join(top, 'blobs'), { recursive: true })
  await execute(database, 'update installation set blob_store_place = null')

  await start(database, { dataDir: top })

  await expect(start(database, { dataDir: join(top, 'other') })).rejects.toThrow('holds none')
})

test('a server with another directory is rejected with both directories and advice', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: join(top, 'first') })

  const second = start(database, { dataDir: join(top, 'second') })

  await expect(second).rejects.toThrow(
    new RegExp(
      `blobs of the database are in the directory ${top}/first/blobs of .*, and the directory ${top}/second/blobs of .* holds none.*; ` +
        'give all servers one directory or one bucket .*groundstate blobs adopt',
    ),
  )
})

test('a directory that was moved with its blobs is recognised', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: join(top, 'first') })
  await rename(join(top, 'first'), join(top, 'moved'))

  await start(database, { dataDir: join(top, 'moved') })

  await expect(start(database, { dataDir: join(top, 'second') })).rejects.toThrow(`${top}/moved/blobs`)
})

test('a server whose blobs are missing is rejected', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: top })
  await rm(join(top, 'blobs'), { recursive: true })

  const again = start(database, { dataDir: top })

  await expect(again).rejects.toThrow(
    /blobs of the database are not in the directory .*blobs of .* any more .*restore them/,
  )
})

test('blobs of another database are rejected, by a new database too', async () => {
  const { database, top } = await newSite()
  const other = await newDatabase()
  await start(database, { dataDir: join(top, 'first') })

  const where = { dataDir: join(top, 'first') }

  await expect(start(other, where)).rejects.toThrow(/first\/blobs of .* holds the blobs of another database/)
  await expect(start(other, where)).rejects.toThrow('another database')
  await start(other, { dataDir: join(top, 'second') })
  await expect(start(other, where)).rejects.toThrow('holds other blobs')
})

test('a database of the previous version adopts existing blobs, also those with a newer id', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: top })
  await forgetStore(database)

  await start(database, { dataDir: top })

  await expect(start(database, { dataDir: join(top, 'other') })).rejects.toThrow('holds none')
})

test('a database of the previous version rejects blobs of another secret', async () => {
  const { database, top } = await newSite()
  const other = await newDatabase()
  await start(other, { dataDir: join(top, 'first'), GROUNDSTATE_SECRET: '22'.repeat(32) })
  await start(database, { dataDir: join(top, 'second') })
  await forgetStore(database)

  await expect(start(database, { dataDir: join(top, 'first') })).rejects.toThrow('another database')
})

test('an adopted directory belongs to the database, and the former one no longer does', async () => {
  const { database, top } = await newSite()
  await start(database, { dataDir: join(top, 'first') })

  await adopt(database, { dataDir: join(top, 'second') })

  await start(database, { dataDir: join(top, 'second') })
  await expect(start(database, { dataDir: join(top, 'first') })).rejects.toThrow('holds other blobs')
})

test('blobs of another secret are not adopted', async () => {
  const { database, top } = await newSite()
  const other = await newDatabase()
  await start(other, { dataDir: join(top, 'first'), GROUNDSTATE_SECRET: '22'.repeat(32) })
  await start(database, { dataDir: join(top, 'second') })

  await expect(adopt(database, { dataDir: join(top, 'first') })).rejects.toThrow('encrypted with another secret')
})

test('servers that begin to use another store exclude a new secret, even if the move was given up', async () => {
  const { database, top } = await newSite()
  await using s3 = await createS3Server()
  const where = { dataDir: top, ...bucketSettings(s3) }
  await start(database, { dataDir: top })
  const config = configOf(where)
  const secrets = createSecrets(await loadSecrets(config))
  const from = await findStoreId(storeOfKind(config, 'disk'), secrets)
  await beginMove(storeOfKind(config, 's3'), secrets, from?.id ?? '')
  const next = { GROUNDSTATE_SECRET: '22'.repeat(32), GROUNDSTATE_PREVIOUS_SECRETS: SECRET }

  await expect(start(database, { ...where, ...next })).rejects.toThrow('the secret is being replaced by the one')
  await start(database, where)
  await expect(start(database, { ...where, ...next })).rejects.toThrow('while blobs are being moved to the bucket')
  await execute(database, 'update installation set blob_move_place = null')
  await expect(start(database, { ...where, ...next })).resolves.toBeUndefined()
})

function bucketSettings({ config }: Awaited<ReturnType<typeof createS3Server>>) {
  return {
    GROUNDSTATE_S3_BUCKET: config.bucket,
    GROUNDSTATE_S3_ENDPOINT: config.endpoint,
    GROUNDSTATE_S3_ACCESS_KEY_ID: config.accessKeyId,
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: config.secretAccessKey,
  }
}

test('a bucket is distinguished from a directory, another bucket and another prefix', async () => {
  const { database, top } = await newSite()
  const s3 = await createS3Server()
  onTestFinished(() => s3[Symbol.asyncDispose]())
  const bucket = { ...bucketSettings(s3), GROUNDSTATE_S3_PREFIX: 'a/' }
  const first = { dataDir: join(top, 'first'), ...bucket }
  const second = { dataDir: join(top, 'second'), ...bucket }

  await start(database, first)

  await expect(start(database, second)).resolves.toBeUndefined()
  await expect(start(database, { dataDir: join(top, 'first') })).rejects.toThrow(/prefix a\/ .*, and the directory/)
  await expect(start(database, { ...first, GROUNDSTATE_S3_PREFIX: 'b/' })).rejects.toThrow('prefix b/ holds none')
})

test('a bucket that cannot be used is named', async () => {
  const { database, top } = await newSite()
  const s3 = await createS3Server()
  onTestFinished(() => s3[Symbol.asyncDispose]())

  const refused = start(database, {
    dataDir: top,
    ...bucketSettings(s3),
    GROUNDSTATE_S3_ACCESS_KEY_ID: 'other',
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: 'wrong',
  })

  await expect(refused).rejects.toThrow(
    /can't use the bucket blobs at http:.*with 403 InvalidAccessKeyId; check the settings/,
  )
})
