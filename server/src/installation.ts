import type pg from 'pg'
import { adoptStore, findRecordedStore, markStore, requireSameStore } from './blobs/blob-store.ts'
import type { Config } from './config.ts'
import { findMarks, requireSameSecret, requireUsable } from './secrets/mark.ts'
import { loadSecrets } from './secrets/secret-file.ts'
import type { Secrets } from './secrets/secrets.ts'
import { StartError } from './start-error.ts'

export const INSTALLATION_HEADER = 'x-groundstate-installation'

/**
 * Checks that this server has the secret and the blob store of the database; a new database gets those of this server. Throws a
 * `StartError`; a new database is then unchanged, unless only the blob store could not be written. Requires the migration lock.
 */
export async function requireSameInstallation(client: pg.Client, config: Config) {
  await inTransaction(client, async () => {
    await requireSameStore(client, config, await requireSameSecret(client, config))
  })
  await markStore(client, config)
}

/**
 * Returns a check that the database still has the secret and the blob store of this server: both may be replaced while it has no connection, since it
 * counts as stopped then. The check throws a `StartError`.
 */
export async function createInstallationCheck(config: Config) {
  const secrets = await loadSecrets(config)
  let storeId: string | undefined
  return async (client: pg.Client) => {
    // Waits for a start that makes another secret the current one.
    await client.query('select from installation for share')
    const marks = await findMarks(client)
    if (marks === undefined) return
    requireUsable(marks, secrets, config)
    const recorded = await findRecordedStore(client)
    storeId ??= recorded?.id
    if (recorded?.id === storeId) return
    throw new StartError('the blobs of the database have been moved to another store', {
      advice: 'start this server with the settings of that store',
    })
  }
}

/** Records the configured blob store as that of the database; see `adoptStore`. */
export async function adoptInstallation(client: pg.Client, config: Config) {
  return inTransaction(client, async () => {
    await requireSameSecret(client, config)
    return adoptStore(client, config)
  })
}

/** Header that distinguishes installations by their secrets without revealing them. */
export function installationHeader(secrets: Secrets) {
  return { [INSTALLATION_HEADER]: secrets.sign('installation', PURPOSE) }
}

/** Whether the value of the header is from a server of this installation. */
export function isSameInstallation(secrets: Secrets, header: string) {
  return secrets.verify('installation', header, PURPOSE)
}

const PURPOSE = 'ping'

export async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
