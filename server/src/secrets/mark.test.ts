import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase } from '../testing/database.ts'
import { shownKeyId } from './key-id.ts'
import { findMarks, finishChange, requireSameSecret, retireOthers } from './mark.ts'

async function newInstallation() {
  const database = await createTestDatabase()
  const top = await mkdtemp(join(tmpdir(), 'groundstate-mark-'))
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]()
    await rm(top, { recursive: true })
  })
  const start = (where: { dataDir: string; secret?: string; previousSecrets?: string[] }) =>
    migrate(database.url, {
      afterwards: async (client) => void (await requireSameSecret(client, where)),
    })
  const startWith = (secret: string, ...previousSecrets: string[]) =>
    start({ dataDir: join(top, 'first'), secret, previousSecrets })
  const change = async (work: (client: pg.Client) => Promise<void>) => migrate(database.url, { afterwards: work })
  return { start, startWith, change, first: join(top, 'first'), second: join(top, 'second') }
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

const [A, B, C] = ['aa', 'bb', 'cc'].map((byte) => byte.repeat(32)) as [string, string, string]
const idOf = (secret: string) => shownKeyId(Buffer.from(secret, 'hex'))

test('replicas change the secret one by one: accept the new one, use it, re-encrypt, remove the old one', async () => {
  const { startWith, change } = await newInstallation()
  await startWith(A)

  await startWith(A, B)
  await startWith(B, A)
  // The other replicas have not been restarted yet.
  await startWith(A, B)
  await expect(startWith(A)).rejects.toThrow(
    `a server already encrypts with a new secret (id ${idOf(B)}), which this server does not have; list in GROUNDSTATE_PREVIOUS_SECRETS it`,
  )
  await expect(startWith(B)).rejects.toThrow(
    `some content of the database is still encrypted with the previous secret (its id is ${idOf(A)}); list`,
  )

  const secrets = { current: Buffer.from(B, 'hex'), previous: [Buffer.from(A, 'hex')] }
  await change(async (client) => retireOthers(client, (await findMarks(client))!, secrets))
  await expect(startWith(A, B)).rejects.toThrow(
    `the secret in GROUNDSTATE_SECRET (id ${idOf(A)}) has been replaced by the one with the id ${idOf(B)}; set`,
  )
  await startWith(B, A)

  await change(async (client) => finishChange(client, secrets))
  await startWith(B, A)
  await startWith(B)
  await expect(startWith(A)).rejects.toThrow(
    `the secret in GROUNDSTATE_SECRET (id ${idOf(A)}) has been replaced by the one with the id ${idOf(B)}; set GROUNDSTATE_SECRET to that one`,
  )
  await expect(startWith(A, B)).rejects.toThrow('has been replaced')
  await startWith(C, B)
})

test('a secret that the server does not have is named by its id', async () => {
  const { startWith } = await newInstallation()
  await startWith(A)

  await expect(startWith(B)).rejects.toThrow(
    `the database was created with another secret than GROUNDSTATE_SECRET (its id is ${idOf(A)}); set GROUNDSTATE_SECRET to it`,
  )
  await startWith(B, A)
  await expect(startWith(C, A)).rejects.toThrow(`a server already encrypts with a new secret (id ${idOf(B)})`)
  await expect(startWith(C, A, B)).rejects.toThrow(
    `the change to the secret with the id ${idOf(B)} has not finished, and GROUNDSTATE_SECRET has a third one (id ${idOf(C)})`,
  )
})
