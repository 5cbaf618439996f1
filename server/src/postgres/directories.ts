import { chmod, chown, mkdir, mkdtemp, readFile, realpath, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDirectories } from '@groundstate/agent/process/directories'
import { reasonOf } from '@groundstate/agent/process/errors'
import { dataFileAdvice, makeDataDirectory, requireUser } from '../directory.ts'
import { replaceFile } from '../durable-file.ts'
import { codeOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import { type SystemAccount, canEnter, closedDirectory } from './account.ts'
import { PostgresUnavailable, isDiskFull } from './unavailable.ts'

/** Parent of root's data that another user must be able to enter. */
export const SYSTEM_DIR = '/var/lib/groundstate'

/** Maximum length of a unix socket's path on Linux, in bytes: `sun_path` without its final zero. */
const MAX_SOCKET_PATH = 107
const SOCKET_NAME = '.s.PGSQL.5432'

/** File in the data directory with the path of the database's directory, if that is elsewhere. */
export const POINTER = 'postgres.location'

/**
 * `home` belongs to the account, has mode 0700, and contains the socket and `cluster`, PostgreSQL's data directory. The log is outside of
 * it, since this process may be root and must not follow links that the account could create.
 */
export type Directories = { home: string; cluster: string; log: string }

/** Finds or creates the directories, below `dataDir` unless the account cannot enter it. Throws a `StartError` for root in another user's directory. */
export async function openDirectories(
  dataDir: string,
  account: SystemAccount,
  log: PostgresLog,
  systemDir = SYSTEM_DIR,
): Promise<Directories> {
  await requireUser(dataDir, { acceptsNew: true })
  await makeDataDirectory(dataDir)
  const real = await realpath(dataDir)
  const place = await chooseHome(real, account, log, systemDir)
  // Node's recursive option reports a read-only file system as a missing directory.
  await makeDirectories(place, 0o700)
  const home = await realpath(place)
  await takeOwnership(home, account)
  return { home, cluster: join(home, 'cluster'), log: join(real, 'postgres.log') }
}

/** Whether a data directory has an embedded PostgreSQL. Throws a `StartError` if this user may not know. */
export async function hasDatabase(dataDir: string) {
  const version = join(await findHome(dataDir), 'cluster/PG_VERSION')
  try {
    await stat(version)
    return true
  } catch (cause) {
    if (codeOf(cause) !== 'EACCES') return false
    throw new StartError(`can't read ${dataDir}: ${reasonOf(cause)}`, { cause, advice: dataFileAdvice(dataDir, cause) })
  }
}

/** Directory of the embedded database of a data directory, which need not exist. */
export async function findHome(dataDir: string) {
  return (await readPointer(dataDir)) ?? join(dataDir, 'postgres')
}

/** Directory of the embedded database if its disk is full, which explains a failure; undefined with another database. */
export async function findFullDisk({ databaseUrl, dataDir }: { databaseUrl: string | undefined; dataDir: string }) {
  if (databaseUrl !== undefined) return undefined
  const home = await findHome(dataDir)
  return (await isDiskFull(home)) ? home : undefined
}

/** Path of the database if it is outside of the data directory. */
export async function readPointer(dataDir: string) {
  const text = await readFile(join(dataDir, POINTER), 'utf8').catch(() => undefined)
  return text?.trim()
}

/** Lets the account, and no other user, enter a directory of ours, by its group. */
export async function openDirectory(directory: string, account: SystemAccount) {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (!account.switch || (await canEnter(account, directory))) return
  const { mode, uid } = await stat(directory)
  if (uid !== 0) return
  await chown(directory, uid, account.gid)
  await chmod(directory, (mode & 0o7777) | 0o010)
}

async function chooseHome(dataDir: string, account: SystemAccount, log: PostgresLog, systemDir: string) {
  if (!account.switch) return join(dataDir, 'postgres')

  const pointer = join(dataDir, POINTER)
  const moved = await readPointer(dataDir)
  if (moved !== undefined) return moved

  await openDirectory(dataDir, account)
  const closed = await closedDirectory(account, dataDir)
  if (closed === undefined) return join(dataDir, 'postgres')

  // A parent, such as root's home, or a directory of another user: its permissions are not ours to change.
  await openDirectory(systemDir, account)
  if (!(await canEnter(account, systemDir))) {
    throw new PostgresUnavailable(`the user ${account.name} can enter neither ${dataDir} nor ${systemDir}`)
  }
  const home = await mkdtemp(join(systemDir, 'database-'))
  await replaceFile(pointer, `${home}\n`)
  // On a terminal, the greeting shows this at every start.
  log.info(`the user ${account.name} cannot enter ${closed}: the database is in ${home}, not in ${dataDir}`)
  return home
}

async function takeOwnership(directory: string, account: SystemAccount) {
  const { uid } = await stat(directory)
  if (uid === account.uid) return chmod(directory, 0o700)
  if (account.switch && uid === 0) {
    await chmod(directory, 0o700)
    return chown(directory, account.uid, account.gid)
  }
  throw new PostgresUnavailable(
    `${directory} belongs to the user id ${uid}, but PostgreSQL would run as ${account.name}`,
    { remedy: `start as its owner, or change the owner: chown -R ${account.name} ${directory}` },
  )
}

/** Directory for PostgreSQL's socket: `home`, or a private one with a short path if `home` is too long. Later processes find it in postmaster.pid. */
export async function openSocketDirectory(home: string, account: SystemAccount) {
  if (fitsSocket(home)) return home
  const base = fitsSocket(join(tmpdir(), 'groundstate-XXXXXX')) ? tmpdir() : '/tmp'
  const directory = await mkdtemp(join(await realpath(base), 'groundstate-'))
  if (account.switch) await chown(directory, account.uid, account.gid)
  return directory
}

function fitsSocket(directory: string) {
  return Buffer.byteLength(join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH
}

export type PostgresLog = { info(message: string): void; warn(message: string): void }

/** `dataDir` is the server's data directory. `fsync: false` is for tests: a power cut may lose data. */
export type PostgresOptions = { dataDir: string; log: PostgresLog; fsync?: boolean }
