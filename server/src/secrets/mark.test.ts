import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase } from '../testing/database.ts'
import { requireSameSecret } from './mark.ts'

async function newInstallation() {
  const database = await createTestDatabase()
  const top = await mkdtemp(join(tmpdir(), 'groundstate-mark-'))
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]()
    await rm(top, { recursive: true })
  })
  const start = (where: { dataDir: string; secret?: string }) =>
    migrate(database.url, {
      afterwards: async (client) => void (await requireSameSecret(client, { secret: undefined, ...where })),
    })
  return { start, first: join(top, 'first'), second: join(top, 'second') }
}

test('a server restarts with the secret of the database, whatever its source', async () => {
  const { start, first, second } = await newInstallation()
  const secret = randomBytes(32)

  await start({ dataDir: first, secret: secret.toString('hex') })

  const again = start({ dataDir: second, secret: secret.toString('base64') })

  await expect(again).resolves.toEqual({ applied: [] })
})

test('another secret is rejected', async () => {
  const { start, first } = await newInstallation()
  await start({ dataDir: first })

  const other = start({ dataDir: first, secret: '11'.repeat(32) })

  await expect(other).rejects.toThrow('the database was created with another secret than GROUNDSTATE_SECRET')
})

test('no new secret is generated for a database that has one', async () => {
  const { start, first, second } = await newInstallation()
  await start({ dataDir: first })

  const moved = start({ dataDir: second })

  await expect(moved).rejects.toThrow(`there is no ${join(second, 'secret')}`)
  await expect(readdir(second)).rejects.toThrow('ENOENT')
})

test('of two servers that start on a new database with separate directories, one is rejected', async () => {
  const { start, first, second } = await newInstallation()

  const starts = await Promise.allSettled([start({ dataDir: first }), start({ dataDir: second })])

  expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})
