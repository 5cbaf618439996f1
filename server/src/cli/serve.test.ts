import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createS3Server } from '../blobs/testing/s3-server.ts'
import { createTestDatabase, execute } from '../testing/database.ts'

const BIN = join(import.meta.dirname, '../../bin/groundstate')

async function spawnServer(databaseUrl: string, flags = ['--agents', '0']) {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-serve-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const dataDir = join(directory, 'data')
  const args = ['serve', '--port', '0', '--data-dir', dataDir, '--database-url', databaseUrl, ...flags]
  const server = spawn(BIN, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  return { server, ended: once(server, 'exit'), dataDir }
}

async function startServer(databaseUrl: string, flags?: string[]) {
  const started = await spawnServer(databaseUrl, flags)
  await once(started.server.stdout, 'data')
  return started
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

test('a start that cannot create the key of identity tokens creates no administrator', async () => {
  await using database = await createTestDatabase()
  // Fails as late as an administrator that is created at the same time needs.
  await execute(
    database.url,
    `create function refuse() returns trigger language plpgsql as $$ begin
       for attempt in 1..50 loop
         exit when exists (select from users where is_site_admin);
         perform pg_sleep(0.02);
       end loop;
       raise exception 'no key can be created';
     end $$;
     create trigger refuse before insert on identity_keys execute function refuse()`,
  )

  const { server, ended } = await spawnServer(database.url)
  const [errors, [code]] = await Promise.all([text(server.stderr), ended])

  expect(code).toBe(1)
  expect(errors).toContain('no key can be created')
  const { rows } = await execute(database.url, 'select username from users where is_site_admin')
  expect(rows).toEqual([])
})
