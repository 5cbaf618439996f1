import { opendir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentLog } from '../log.ts'
import { linkStatsOf, statsOf } from '../process/confined-file.ts'
import type { Launcher } from '../process/launcher.ts'
import { type IdBlock, createIdPool, isInBlock } from './run-users.ts'

/** Directories in which every user of a machine may create files. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock', tmpdir()]
/** Kinds of System V IPC objects, with the option of `ipcrm` for each. */
const IPC = [
  ['shm', '-m'],
  ['msg', '-q'],
  ['sem', '-s'],
] as const

type Services = { launcher: Launcher; log: AgentLog }

/** The users of runs. An id is not reused while anything of an earlier run with it exists. */
export type RunUsers = ReturnType<typeof openRunUsers>

export function openRunUsers(block: IdBlock, services: Services, held: Iterable<number>) {
  const pool = createIdPool(block, held)
  const { launcher, log } = services
  /** Ids whose leftovers could not be removed. */
  const blocked = new Set<number>()

  /** Frees an id once nothing of it is left. */
  async function tryToFree(uid: number) {
    if (await isCleared(uid)) {
      blocked.delete(uid)
      pool.free(uid)
    } else blocked.add(uid)
  }

  async function isCleared(uid: number) {
    const [left] = await removeLeftovers(services, uid)
    if (left !== undefined) log.warn({ ...left }, 'a run left this behind: its user id is not reused')
    return left === undefined
  }

  return {
    take: pool.take,
    reserve: pool.reserve,
    /** Kills the user's processes. An id of an earlier agent's block may now belong to another agent. */
    clear: async (uid: number) => (isInBlock(block, uid) ? launcher.clear(uid) : undefined),
    /** Removes what a user without processes has left, and one whose removal has failed; frees the ids of those that succeed. */
    async release(uid: number) {
      const [next] = blocked
      if (isInBlock(block, uid)) await tryToFree(uid)
      if (next !== undefined && next !== uid) await tryToFree(next)
    },
    /** Removes what runs of killed agents have left, except those whose ids are in use. */
    async releaseUnused() {
      const uids = new Set((await listLeftovers(pool.isFree)).map(({ uid }) => uid))
      for (const uid of uids) {
        pool.reserve(uid)
        await tryToFree(uid)
      }
    },
  }
}

type Leftover = { uid: number; path: string } | { uid: number; ipc: readonly [option: string, id: string] }

/** A file in a shared directory of each user that `isOwn` selects, and all their IPC objects. */
async function listLeftovers(isOwn: (uid: number) => boolean): Promise<Leftover[]> {
  const found: Leftover[] = []
  const owners = new Set<number>()
  for (const directory of sharedDirectories()) await search(directory)
  for (const [kind, option] of IPC) {
    const [names = [], ...rows] = (await readFile(`/proc/sysvipc/${kind}`, 'utf8').catch(() => ''))
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
    for (const row of rows) {
      const uid = ['uid', 'cuid'].map((name) => Number(row[names.indexOf(name)])).find(isOwn)
      if (uid !== undefined) found.push({ uid, ipc: [option, row[1] ?? ''] })
    }
  }
  return found

  async function search(directory: string) {
    try {
      for await (const { name } of await opendir(directory)) await visit(join(directory, name))
    } catch {
      // It was deleted in the meantime, or even root cannot read it, such as another user's FUSE mount.
    }
  }

  async function visit(path: string) {
    const stats = linkStatsOf(path)
    if (stats === undefined) return
    const isOwned = isOwn(stats.uid)
    if (isOwned && !owners.has(stats.uid)) found.push({ uid: stats.uid, path })
    if (isOwned) owners.add(stats.uid)
    // Others can only create files where the mode permits it.
    if (stats.isDirectory() && (isOwned || (stats.mode & 0o022) !== 0)) await search(path)
  }
}

function sharedDirectories() {
  return [...new Set(SHARED)].filter((path) => statsOf(path)?.isDirectory() === true)
}

/**
 * Removes the files that `listLeftovers` finds, with those in their directories. A directory without permissions for its owner would keep its
 * content. The arguments are the user id and the shared directories.
 */
const REMOVE = `user=$1; shift
closed='-type d ! -user '$user' ! -perm -020 ! -perm -002 -prune'
find -H "$@" $closed -o -user $user -type d -prune -exec chmod -R u+rwX {} +
find -H "$@" $closed -o -user $user -prune -exec rm -rf {} +`

/** Removes what a user without processes has left; returns what cannot be removed. Acts as this user, so a link can mislead it to no other file. */
async function removeLeftovers({ launcher, log }: Services, uid: number): Promise<Leftover[]> {
  const isOwn = (owner: number) => owner === uid
  const left = await listLeftovers(isOwn)
  if (left.length === 0) return left
  const ipc = left.flatMap((leftover) => ('ipc' in leftover ? leftover.ipc : []))
  const files = ['-c', REMOVE, 'sh', String(uid), ...sharedDirectories()]
  await run('sh', files)
  if (ipc.length > 0) await run('ipcrm', ipc)
  return listLeftovers(isOwn)

  /** If it fails, something is left, which the caller learns. */
  async function run(file: string, args: string[]) {
    const spec = { file, args, cwd: '/', env: { PATH: '/usr/bin:/bin' }, user: { uid, gid: uid } }
    try {
      const { stdout, stderr, closed } = await launcher.launch(spec)
      for (const output of [stdout, stderr]) output.resume()
      await closed
    } catch (error) {
      log.warn({ error }, `${file} could not be started`)
    }
  }
}
