import { join } from 'node:path'
import type pg from 'pg'
import { StartError } from '../start-error.ts'
import { findSecret, loadSecret } from './secret-file.ts'
import { createSecrets } from './secrets.ts'

/** `secret` takes precedence over the file in `dataDir`. */
type SecretSettings = { dataDir: string; secret?: string | undefined }

/**
 * Checks that the server has the secret of the database, without which sealed values cannot be opened. A new database gets the mark of this
 * server's secret, which is generated if needed. Throws a `StartError`. Requires the migration lock, so that only one of several first starts sets
 * the mark.
 */
export async function requireSameSecret(client: pg.Client, config: SecretSettings) {
  const stored = await findMark(client)
  if (stored === undefined) {
    const mark = secretMark(await loadSecret(config.dataDir, config.secret))
    await client.query('insert into installation (secret_mark) values ($1)', [mark])
    return { isNew: true }
  }
  await checkSecret(stored, config)
  return { isNew: false }
}

/** Throws a `StartError` unless the secret of this server matches the mark of the database. */
export async function checkSecret(mark: string, config: SecretSettings) {
  const secret = await findSecret(config.dataDir, config.secret)
  if (secret !== undefined && secretMark(secret) === mark) return
  const path = join(config.dataDir, 'secret')
  const source = config.secret === undefined ? path : 'GROUNDSTATE_SECRET'
  throw new StartError(
    secret === undefined
      ? `the database was created with a secret, but there is no ${path}`
      : `the database was created with another secret than ${source}`,
    { advice: 'set GROUNDSTATE_SECRET to the content of the file secret in the data directory of the first start' },
  )
}

/** Undefined before the first start. */
export async function findMark(client: pg.Client) {
  const { rows } = await client.query<{ secret_mark: string }>('select secret_mark from installation')
  return rows[0]?.secret_mark
}

function secretMark(secret: Buffer) {
  return createSecrets(secret).sign('installation', 'secret-mark')
}
