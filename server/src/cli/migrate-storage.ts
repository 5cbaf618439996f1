import type pg from 'pg'
import { formatBytes } from '../backup/copy.ts'
import {
  beginMove,
  type BlobStore,
  endMove,
  findMove,
  findRecordedStore,
  findStoreId,
  forgetMove,
  placeOf,
  recordMove,
  requireNoMove,
  storeOfKind,
} from '../blobs/blob-store.ts'
import { blobSecrets } from '../blobs/frames.ts'
import { type Moved, moveBlobs, openDriver } from '../blobs/moving.ts'
import type { Config } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { inTransaction } from '../installation.ts'
import { checkSecrets, findMarks } from '../secrets/mark.ts'
import { type SecretSet, createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { openDatabase, requireMigrated } from './database.ts'
import { watched } from './progress.ts'

/**
 * Copies all blobs between the data directory and the bucket, both as configured, while servers run. It runs twice: before servers are restarted
 * with the new store, and after it, when it also ends the move. Until then, servers read from the old store what the new one does not have.
 */
export async function migrateStorageCommand(config: Config, kind: BlobStore['kind']): Promise<number> {
  const to = storeOfKind(config, kind)
  const begun = await begin(config, kind)
  if (begun === undefined) return 0
  const { from, set, isSwitched } = begun

  const started = performance.now()
  let bytes = 0
  const moved = await watched({ verb: 'copied', kept: 'run it again to continue' }, async (watch) => {
    await using source = await openDriver(from)
    await using target = await openDriver(to)
    const add = (count: number) => {
      bytes += count
      watch.add(count)
    }
    return await moveBlobs({ from: source, to: target, secrets: blobSecrets(set) }, { ...watch, add })
  })
  const took = `${formatBytes(bytes)} in ${((performance.now() - started) / 1000).toFixed(1)} s`
  process.stdout.write(`Copied ${moved.copied} blobs to ${placeOf(to)} (${took}); ${moved.present} were there.\n`)
  if (moved.skipped > 0) process.stdout.write(`Left ${moved.skipped} objects that are not blobs.\n`)
  if (moved.damaged.length > 0) throw damaged(moved)
  if (isSwitched) {
    await endMove({ from, to }, createSecrets(set))
    await withDatabase(config, async (client) => void (await forgetMove(client)))
  }
  process.stdout.write(isSwitched ? finished(from) : next(kind))
  return 0
}

/** A move that may begin or continue. `isSwitched`: servers use the new store already. */
type Begun = { from: BlobStore; set: SecretSet; isSwitched: boolean }

/** Begins a move, or continues it; undefined if all blobs are in the store. Throws a `StartError`. */
async function begin(config: Config, kind: BlobStore['kind']): Promise<Begun | undefined> {
  let begun: Begun | undefined
  await withDatabase(config, async (client) => {
    const marks = await findMarks(client)
    const recorded = marks && (await findRecordedStore(client))
    if (marks === undefined || recorded === undefined)
      throw new StartError('there are no blobs yet: no server has started with this database')
    const set = await checkSecrets(marks, config)
    const to = storeOfKind(config, kind)
    const secrets = createSecrets(set)
    const move = await findMove(to, secrets)
    if (move === undefined && recorded.id === (await findStoreId(to, secrets))?.id) {
      const ended = await forgetMove(client)
      process.stdout.write(`The blobs are in ${placeOf(to)} already.\n`)
      if (ended !== null) process.stdout.write(`The move to ${ended} is ended.\n`)
      return
    }
    const from = storeOfKind(config, kind === 'disk' ? 's3' : 'disk')
    const fromId = (await findStoreId(from, secrets))?.id
    const isSwitched = move !== undefined && recorded.id === move.to
    if (fromId === undefined || fromId !== (isSwitched ? move.from : recorded.id)) {
      throw new StartError(`${placeOf(from)} does not hold the blobs of the database (store ${recorded.id})`, {
        advice: 'run this with the settings of the server, GROUNDSTATE_DATA_DIR and GROUNDSTATE_S3_…',
      })
    }
    // The store in use may lack blobs that are still being moved to it.
    if (!isSwitched) await requireNoMove(from, secrets)
    await recordMove(client, to, isSwitched)
    if (!isSwitched) await beginMove(to, secrets, fromId)
    begun = { from, set, isSwitched }
  })
  return begun
}

/** Calls `work` in a transaction, with the migration lock. */
async function withDatabase(config: Config, work: (client: pg.Client) => Promise<void>) {
  await using database = await openDatabase(config)
  const client = await connectDatabase(database.url, 'groundstate-migrate-storage')
  try {
    await requireMigrated(client)
  } finally {
    await client.end()
  }
  await migrate(database.url, { afterwards: async (locked) => inTransaction(locked, async () => work(locked)) })
}

function damaged({ damaged: problems }: Moved) {
  const shown = problems.slice(0, 10).join('\n')
  return new StartError(`${problems.length} blobs are damaged and were not copied:\n${shown}`, {
    advice: 'restore them from a backup, or delete them from the old store, and run this again',
  })
}

function next(kind: BlobStore['kind']) {
  const settings = kind === 's3' ? 'the settings GROUNDSTATE_S3_…' : 'GROUNDSTATE_BLOB_STORE=disk'
  return (
    `Now stop all servers, start them with ${settings}, and run this again. They read from the old store what is not copied yet; ` +
    'it must stay configured until then.\n'
  )
}

function finished(from: BlobStore) {
  const rest =
    from.kind === 's3'
      ? 'the bucket, and its settings with GROUNDSTATE_BLOB_STORE at the next restart'
      : 'that directory after the next restart of the servers'
  return `All blobs are moved, and ${placeOf(from)} is not used any more. When you have a backup of the new store, remove ${rest}.\n`
}
