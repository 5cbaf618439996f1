import { type Backup, createBackup } from '../backup/backup.ts'
import { formatBytes } from '../backup/copy.ts'
import type { Manifest } from '../backup/manifest.ts'
import { restoreBackup, verifyBackup } from '../backup/restore.ts'
import type { Config } from '../config.ts'
import { openDatabase } from './database.ts'
import { watched } from './progress.ts'

export type BackupFlags = { full?: true; blobsOnly?: true; includeSecret?: true }

const KEPT = 'nothing of it is kept'

/** Backs up the embedded database and the blobs on disk into a new directory in `parent`. */
export async function backupCommand(config: Config, parent: string, flags: BackupFlags): Promise<number> {
  const [database, started] = [await openDatabase(config), performance.now()]
  let isOpen = true
  const close = async () => {
    if (isOpen) await database[Symbol.asyncDispose]()
    isOpen = false
  }
  try {
    const backup = await watched({ verb: 'copied', kept: KEPT }, async (watch) =>
      createBackup(
        config,
        { url: database.url, close },
        {
          parent,
          full: flags.full === true,
          blobsOnly: flags.blobsOnly === true,
          includeSecret: flags.includeSecret === true,
          watch,
        },
      ),
    )
    process.stdout.write(summary(backup, performance.now() - started))
    return 0
  } finally {
    await close()
  }
}

function summary({ path, manifest, added, damaged }: Backup, ms: number) {
  const lines = [`Backed up to ${path} in ${seconds(ms)}`, ...parts(manifest)]
  if (manifest.blobs) lines.push(`  new       ${added.blobs} blobs, ${formatBytes(added.bytes)}`)
  if (damaged !== undefined) lines.push(`All blobs were copied: ${damaged} is damaged or unreadable; delete it.`)
  if (!manifest.blobs) lines.push(`The blobs are not in it: they are in ${manifest.store.place}.`)
  lines.push(
    manifest.hasKeys
      ? 'It includes the secret: keep it as safe as the server.'
      : 'The secret is not in it: without the secret, nothing can be decrypted.',
  )
  return `${lines.join('\n')}\n`
}

function parts({ database, blobs, keys, hasKeys }: Manifest) {
  return [
    ...(database ? [`  database  ${database.files} files, ${formatBytes(database.bytes)}`] : []),
    ...(blobs ? [`  blobs     ${blobs.files - 1} files, ${formatBytes(blobs.bytes)}`] : []),
    ...(keys ? [`  keys      ${keys.files} files, ${formatBytes(keys.bytes)}`] : []),
    ...(hasKeys && !keys ? ['  keys      without checksums: only the secret is verified'] : []),
  ]
}

/** Restores a backup into an empty data directory, or with `check` only verifies it. */
export async function restoreCommand(config: Config, source: string, flags: { check?: true }): Promise<number> {
  const started = performance.now()
  if (flags.check === true) {
    const manifest = await watched({ verb: 'verified', kept: 'nothing was changed' }, async (watch) =>
      verifyBackup({ source, watch }),
    )
    process.stdout.write(
      `${[`${source} is complete and undamaged (${seconds(performance.now() - started)})`, ...parts(manifest)].join('\n')}\n`,
    )
    return 0
  }
  const manifest = await watched({ verb: 'restored', kept: KEPT }, async (watch) =>
    restoreBackup(config, { source, watch }),
  )
  const lines = [
    `Restored the backup of ${manifest.createdAt} to ${config.dataDir} in ${seconds(performance.now() - started)}`,
    ...parts(manifest),
    'Stop the original server before you start this one: both would execute the same runs and send the same requests.',
    ...(manifest.blobs
      ? []
      : ['Both would also use the same bucket, and each delete the content that only the other knows.']),
    'Then start it: groundstate serve',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

function seconds(ms: number) {
  return `${(ms / 1000).toFixed(1)} s`
}
