import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createS3Server } from '../blobs/testing/s3-server.ts'
import { createTestDatabase } from '../testing/database.ts'

const BIN = join(import.meta.dirname, '../../bin/groundstate')

async function startServer(databaseUrl: string, flags = ['--agents', '0']) {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-serve-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const dataDir = join(directory, 'data')
  const args = ['serve', '--port', '0', '--data-dir', dataDir, '--database-url', databaseUrl, ...flags]
  const server = spawn(BIN, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(server, 'exit')
  await once(server.stdout, 'data')
  return { server, ended, dataDir }
}

test.each(['SIGTERM', 'SIGHUP'] as const)('%s drains a server whose terminal was closed', async (signal) => {
  await using database = await createTestDatabase()
  const { server, ended } = await startServer(database.url)
  server.stdout.destroy()
  server.stderr.destroy()

  server.kill(signal)

  expect(await ended).toEqual([0, null])
})

test('SIGQUIT ends a server without a drain', async () => {
  await using database = await createTestDatabase()
  const { server, ended } = await startServer(database.url)

  server.kill('SIGQUIT')

  expect(await ended).toEqual([131, null])
})

test('with an external database and a bucket, a missing data directory is created for this user only', async () => {
  await using database = await createTestDatabase()
  await using store = await createS3Server()
  const { bucket, endpoint, accessKeyId, secretAccessKey } = store.config
  const s3 = ['--s3-bucket', bucket, '--s3-endpoint', endpoint]
  const keys = ['--s3-access-key-id', accessKeyId, '--s3-secret-access-key', secretAccessKey]
  const flags = [...s3, ...keys, '--secret', '11'.repeat(32), '--isolation', 'off']

  const { server, ended, dataDir } = await startServer(database.url, flags)
  const { mode } = await stat(dataDir)
  server.kill('SIGQUIT')
  await ended

  expect(mode & 0o777).toBe(0o700)
})
