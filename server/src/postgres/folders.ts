import { access, chmod, chown, mkdir, mkdtemp, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFolder } from '../folder.ts'
import { type Account, canEnter } from './account.ts'
import { PostgresUnavailable } from './unavailable.ts'
import type { Log } from './site.ts'

/** Where root keeps what another user must be able to enter. */
export const SYSTEM_DIR = '/var/lib/groundstate'

/** The longest path a unix socket can have, in bytes: `sun_path` without its closing zero, on Linux. */
const MAX_SOCKET_PATH = 107
const SOCKET_NAME = '.s.PGSQL.5432'

/** The file in a data folder that names the database's own folder, when that is elsewhere. */
const POINTER = 'postgres.location'

/**
 * The folders of one embedded PostgreSQL. `home` belongs to the account, is 0700 and holds the socket and `cluster`, which
 * is PostgreSQL's own data folder. The log lies outside of it: this process may be root and must not follow links that the
 * account could plant.
 */
export type Folders = { home: string; cluster: string; log: string }

/** Makes the folders, or finds them; below `dataDir` unless the account cannot get there. */
export async function openFolders(
  dataDir: string,
  account: Account,
  log: Log,
  systemDir = SYSTEM_DIR,
): Promise<Folders> {
  await makeFolder(dataDir, 0o700)
  const real = await realpath(dataDir)
  const place = await findHome(real, account, log, systemDir)
  await mkdir(place, { recursive: true, mode: 0o700 })
  const home = await realpath(place)
  await own(home, account)
  return { home, cluster: join(home, 'cluster'), log: join(real, 'postgres.log') }
}

/** Whether an embedded PostgreSQL has been made in a data folder; makes nothing. */
export async function hasDatabase(dataDir: string) {
  const home = (await readPointer(dataDir)) ?? join(dataDir, 'postgres')
  return access(join(home, 'cluster/PG_VERSION')).then(
    () => true,
    () => false,
  )
}

/** Where the database is when it is not in the data folder. */
export async function readPointer(dataDir: string) {
  const text = await readFile(join(dataDir, POINTER), 'utf8').catch(() => undefined)
  return text?.trim()
}

/** Lets the account pass through a folder that is ours, by its group: nobody else gets in. */
export async function openFolder(folder: string, account: Account) {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (!account.switch || (await canEnter(account, folder))) return
  const { mode, uid } = await stat(folder)
  if (uid !== 0) return
  await chown(folder, uid, account.gid)
  await chmod(folder, (mode & 0o7777) | 0o010)
}

async function findHome(dataDir: string, account: Account, log: Log, systemDir: string) {
  if (!account.switch) return join(dataDir, 'postgres')

  const pointer = join(dataDir, POINTER)
  const moved = await readPointer(dataDir)
  if (moved !== undefined) return moved

  await openFolder(dataDir, account)
  if (await canEnter(account, dataDir)) return join(dataDir, 'postgres')

  // A folder above it shuts the account out, such as root's home. That one is not ours to open.
  await openFolder(systemDir, account)
  if (!(await canEnter(account, systemDir))) {
    throw new PostgresUnavailable(`the user ${account.name} can enter neither ${dataDir} nor ${systemDir}`)
  }
  const home = await mkdtemp(join(systemDir, 'database-'))
  await writeFile(`${pointer}.new`, `${home}\n`)
  await rename(`${pointer}.new`, pointer)
  // The greeting says it to whoever sits at a terminal, at every start.
  log.info(
    `the user ${account.name} cannot enter ${dirname(dataDir)}: the database is kept in ${home}, not in ${dataDir}`,
  )
  return home
}

async function own(folder: string, account: Account) {
  const { uid } = await stat(folder)
  if (uid === account.uid) return chmod(folder, 0o700)
  if (account.switch && uid === 0) {
    await chmod(folder, 0o700)
    return chown(folder, account.uid, account.gid)
  }
  throw new PostgresUnavailable(
    `${folder} belongs to the user id ${uid}, but PostgreSQL would run as ${account.name}`,
    {
      remedy: `start as the user that owns it, or give it away with chown -R ${account.name} ${folder}`,
    },
  )
}

/**
 * The folder for PostgreSQL's socket: `home`, or a private short one when the path would pass the limit of unix sockets.
 * PostgreSQL records it in its postmaster.pid, which is where a later process finds it.
 */
export async function openSocketFolder(home: string, account: Account) {
  if (fitsSocket(home)) return home
  const base = fitsSocket(join(tmpdir(), 'groundstate-XXXXXX')) ? tmpdir() : '/tmp'
  const folder = await mkdtemp(join(await realpath(base), 'groundstate-'))
  if (account.switch) await chown(folder, account.uid, account.gid)
  return folder
}

function fitsSocket(folder: string) {
  return Buffer.byteLength(join(folder, SOCKET_NAME)) <= MAX_SOCKET_PATH
}
