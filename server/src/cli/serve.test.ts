import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../testing/database.ts'

const BIN = join(import.meta.dirname, '../../bin/groundstate.mjs')

test.each(['SIGTERM', 'SIGHUP'] as const)('%s drains a server whose terminal is gone', async (signal) => {
  const folder = await mkdtemp(join(tmpdir(), 'groundstate-serve-'))
  await using database = await createTestDatabase()
  const args = ['serve', '--port', '0', '--agents', '0', '--data-dir', folder, '--database-url', database.url]
  const server = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(server, 'exit')
  await once(server.stdout, 'data')
  server.stdout.destroy()
  server.stderr.destroy()

  server.kill(signal)

  expect(await ended).toEqual([0, null])
  await rm(folder, { recursive: true })
})
