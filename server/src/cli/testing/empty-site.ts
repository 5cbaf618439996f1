import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { atEnd } from '../../testing/cleanup.ts'
import { createTestDatabase, execute } from '../../testing/database.ts'

/** A directory and a database without tables, for commands that meet a problem. Both are removed at the end of the test file. */
export async function createEmptySite() {
  // A database given to the tests must not be used by these commands.
  vi.stubEnv('GROUNDSTATE_DATABASE_URL', undefined)
  atEnd(() => vi.unstubAllEnvs())
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-problems-'))
  atEnd(() => rm(directory, { recursive: true }))
  // Otherwise root's database would move to a directory that its user can enter.
  await chmod(directory, 0o755)
  const empty = await createTestDatabase()
  atEnd(() => empty[Symbol.asyncDispose]())
  await execute(empty.url, 'drop schema public cascade; create schema public')
  return { directory, empty }
}
