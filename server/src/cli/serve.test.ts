import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../testing/database.ts'

const BIN = join(import.meta.dirname, '../../bin/groundstate')

async function startServer(databaseUrl: string) {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-serve-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const args = ['serve', '--port', '0', '--agents', '0', '--data-dir', directory, '--database-url', databaseUrl]
  const server = spawn(BIN, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(server, 'exit')
  await once(server.stdout, 'data')
  return { server, ended }
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
