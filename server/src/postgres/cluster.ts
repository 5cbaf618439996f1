import { randomUUID } from 'node:crypto'
import { chown, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAlive } from '@groundstate/agent/process/process-id'
import { syncDirectory } from '../durable-file.ts'
import { ignoring } from '../error-code.ts'
import type { SystemAccount } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Directories } from './directories.ts'
import { run } from './run.ts'
import { PostgresUnavailable, postgresFailure } from './unavailable.ts'

/** The database superuser. It can connect only through the socket, whose directory other users cannot enter. */
export const SUPERUSER = 'groundstate'

/** Creates PostgreSQL's data directory if it is missing, and rejects one of another major version. */
export async function openCluster(
  directories: Directories,
  binaries: Binaries,
  account: SystemAccount,
  fsync: boolean,
) {
  const version = await readVersion(directories.cluster)
  if (version === undefined) return createCluster(directories, binaries, account, fsync)
  if (version !== binaries.major) {
    throw new PostgresUnavailable(
      `${directories.cluster} was created by PostgreSQL ${version}, but this is PostgreSQL ${binaries.major}; the data is unchanged`,
      { remedy: `export with the release that includes PostgreSQL ${version}, and import into a new data directory` },
    )
  }
}

async function readVersion(cluster: string) {
  try {
    return (await ignoring('ENOENT', readFile(join(cluster, 'PG_VERSION'), 'utf8')))?.trim()
  } catch (error) {
    throw postgresFailure(`reading ${cluster}`, error)
  }
}

/** The temporary directories of this process. Others with its id are left from a former process, as in a container. */
const creating = new Set<string>()

/** Creates a temporary directory and renames it, so that an interruption leaves no incomplete data directory. */
async function createCluster(directories: Directories, binaries: Binaries, account: SystemAccount, fsync: boolean) {
  await removeInterrupted(directories)
  const partial = `${directories.cluster}.new-${process.pid}-${randomUUID()}`
  creating.add(basename(partial))
  try {
    await mkdir(partial, { mode: 0o700 })
    if (account.switch) await chown(partial, account.uid, account.gid)
    await run(binaries.initdb, initdbArguments(partial, fsync), account)
    await rename(partial, directories.cluster)
    if (fsync) await syncDirectory(directories.home)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    // Another process may have finished first.
    if ((await readVersion(directories.cluster)) === undefined) throw postgresFailure('creating the database', error)
  } finally {
    creating.delete(basename(partial))
  }
}

/** The built-in locale provider sorts the same on every system, so an upgrade of the C library cannot break an index. */
function initdbArguments(directory: string, fsync: boolean) {
  return [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth-local=trust',
    '--auth-host=reject',
    '--no-instructions',
    ...(fsync ? [] : ['--no-sync']),
  ]
}

async function removeInterrupted(directories: Directories) {
  for (const name of await readdir(directories.home)) {
    const pid = Number(/^cluster\.new-(\d+)-/.exec(name)?.[1])
    const isInterrupted = pid === process.pid ? !creating.has(name) : !isAlive(pid)
    if (Number.isNaN(pid) || !isInterrupted) continue
    await rm(join(directories.home, name), { recursive: true, force: true })
  }
}
