import type { Db } from '../db/db.ts'
import { markedSecret, sealedDigestKey } from '../secrets/mark.ts'
import { type SecretSet, type Secrets, createSecrets, digestKeyOf } from '../secrets/secrets.ts'

/** The secrets of the installation, with the key of its digests. Throws `SealError` if that key cannot be opened. */
export async function openSecrets(db: Db, set: SecretSet): Promise<Secrets> {
  const row = await db.selectFrom('installation').select(['secret_mark', 'digest_key']).executeTakeFirst()
  if (!row) return createSecrets(set)
  const key = row.digest_key && createSecrets(set).open(row.digest_key, sealedDigestKey.context({}))
  return createSecrets(set, key ?? digestKeyOf(markedSecret(row, set)))
}
