import { formatBytes } from '../backup/copy.ts'
import {
  beginMove,
  type BlobStore,
  endMove,
  findMove,
  findRecordedStore,
  findStoreId,
  placeOf,
  storeOfKind,
} from '../blobs/blob-store.ts'
import { blobSecrets } from '../blobs/frames.ts'
import { type Moved, moveBlobs, openDriver } from '../blobs/moving.ts'
import type { Config } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { checkSecrets, findMarks } from '../secrets/mark.ts'
import { loadSecrets } from '../secrets/secret-file.ts'
import { createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { openDatabase } from './database.ts'
import { watched } from './progress.ts'

/**
 * Copies all blobs between the data directory and the bucket, both as configured, while servers run. It runs twice: before servers are restarted
 * with the new store, and after it, when it also ends the move. Until then, servers read from the old store what the new one does not have.
 */
export async function migrateStorageCommand(config: Config, kind: BlobStore['kind']): Promise<number> {
  const to = storeOfKind(config, kind)
  const recorded = await findUsedStore(config)
  const set = await loadSecrets(config)
  const secrets = createSecrets(set)
  const [toId, move] = [(await findStoreId(to, secrets))?.id, await findMove(to, secrets)]
  if (recorded === toId && move === undefined) {
    process.stdout.write(`The blobs are in ${placeOf(to)} already.\n`)
    return 0
  }
  const from = storeOfKind(config, kind === 'disk' ? 's3' : 'disk')
  const fromId = (await findStoreId(from, secrets))?.id
  const isSwitched = move !== undefined && recorded === move.to
  if (fromId === undefined || fromId !== (isSwitched ? move.from : recorded)) {
    throw new StartError(`${placeOf(from)} does not hold the blobs of the database (store ${recorded})`, {
      advice: 'run this with the settings of the server, GROUNDSTATE_DATA_DIR and GROUNDSTATE_S3_…',
    })
  }
  if (!isSwitched) await beginMove(to, secrets, fromId)

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
  if (isSwitched) await endMove(to)
  process.stdout.write(isSwitched ? finished(from) : next(kind))
  return 0
}

/** Id of the store that the database has. Throws a `StartError` before the first start. */
async function findUsedStore(config: Config) {
  await using database = await openDatabase(config)
  const client = await connectDatabase(database.url, 'groundstate-migrate-storage')
  try {
    const { rows } = await client.query(`select where to_regclass('public.installation') is not null`)
    const marks = rows.length > 0 ? await findMarks(client) : undefined
    const store = marks === undefined ? undefined : await findRecordedStore(client)
    if (marks === undefined || store === undefined)
      throw new StartError('there are no blobs yet: no server has started with this database')
    await checkSecrets(marks, config)
    return store.id
  } finally {
    await client.end()
  }
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
  return `All blobs are moved. ${placeOf(from)} is not used any more; when you have a backup of the new store, remove ${rest}.\n`
}
