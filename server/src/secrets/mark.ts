import { join } from 'node:path'
import type pg from 'pg'
import { StartError } from '../start-error.ts'
import { keyId, shownKeyId } from './key-id.ts'
import { sealedColumn } from './sealed.ts'
import { type SecretSettings, findSecrets, loadSecrets, secretSource } from './secret-file.ts'
import { type SecretSet, createSecrets, digestKeyOf } from './secrets.ts'

/**
 * Marks of the secrets of a database, by which a server knows whether it has the same. `secret_mark` is that of the secret that seals everything, or did
 * before the change to the next one, with which some servers seal. A retired secret may still be accepted, but seals nothing any more.
 */
export type SecretMarks = {
  secret_mark: string
  secret_id: string | null
  next_secret_mark: string | null
  next_secret_id: string | null
  retired_secret_marks: string[]
}

/** The key of the digests of the database, sealed; null for the one that is derived from the secret it was created with. */
export const sealedDigestKey = sealedColumn('installation.digest_key', [], () => 'installation/digest-key')

/**
 * Checks that the server has the secrets of the database, without which sealed values cannot be opened. A new database gets the mark of this
 * server's secret, which is generated if needed; from the first start with another secret on, all servers need it. Throws a `StartError`.
 * Requires the migration lock, so that only one of several first starts sets the mark.
 */
export async function requireSameSecret(client: pg.Client, config: SecretSettings) {
  const stored = await findMarks(client)
  if (stored === undefined) {
    const { current } = await loadSecrets(config)
    await client.query('insert into installation (secret_mark, secret_id) values ($1, $2)', [
      secretMark(current),
      shownKeyId(current),
    ])
    return { isNew: true }
  }
  const secrets = await checkSecrets(stored, config)
  if (!isInUse(stored, secrets.current)) {
    await startChange(client, stored, secrets)
    await requireAccepted(client, secrets.current, config)
  } else if (stored.secret_id === null)
    await client.query('update installation set secret_id = $1', [ownId(stored, secrets)])
  return { isNew: false }
}

/** As `requireSameSecret`, without changes: a secret that no server has started with is rejected too. */
export async function checkSecret(stored: SecretMarks, config: SecretSettings): Promise<SecretSet> {
  const secrets = await checkSecrets(stored, config)
  requireUsable(stored, secrets, config)
  return secrets
}

/** Throws a `StartError` unless the server has all secrets of the database and may seal with its own. */
export async function checkSecrets(stored: SecretMarks, config: SecretSettings): Promise<SecretSet> {
  const secrets = await findSecrets(config)
  if (secrets === undefined) {
    throw new StartError(`the database was created with a secret, but there is no ${join(config.dataDir, 'secret')}`, {
      advice: FIRST_ADVICE,
    })
  }
  checkSet(stored, secrets, config)
  return secrets
}

function checkSet(stored: SecretMarks, secrets: SecretSet, config: SecretSettings) {
  const source = secretSource(config)
  const current = secretMark(secrets.current)
  if (stored.retired_secret_marks.includes(current)) {
    const to = stored.next_secret_id ?? stored.secret_id
    throw new StartError(
      `the secret in ${source} (id ${shownKeyId(secrets.current)}) has been replaced by the one with the id ${to}`,
      {
        advice: `set GROUNDSTATE_SECRET to that one${stored.next_secret_id === null ? '' : `, and ${LIST_ADVICE} the replaced one until \`groundstate rotate-secret\` has finished`}`,
      },
    )
  }
  const accepted = new Set([current, ...secrets.previous.map(secretMark)])
  if (!accepted.has(stored.secret_mark)) throw missingSecret(stored, secrets, source)
  const { next_secret_mark: next, next_secret_id: nextId } = stored
  if (next === null) return
  if (!accepted.has(next)) {
    throw new StartError(
      `a server already encrypts with a new secret (id ${nextId}), which this server does not have`,
      {
        advice: `${LIST_ADVICE} it, or set GROUNDSTATE_SECRET to it and ${LIST_ADVICE} the secret in ${source}`,
      },
    )
  }
  if (!isInUse(stored, secrets.current)) {
    throw new StartError(
      `the change to the secret with the id ${nextId} has not finished, and ${source} has a third one (id ${shownKeyId(secrets.current)})`,
      { advice: `run \`groundstate rotate-secret\` with the secret ${nextId} first` },
    )
  }
}

const FIRST_ADVICE = 'set GROUNDSTATE_SECRET to the content of the file secret in the data directory of the first start'
const LIST_ADVICE = 'list in GROUNDSTATE_PREVIOUS_SECRETS'

function missingSecret(stored: SecretMarks, secrets: SecretSet, source: string) {
  if (stored.next_secret_mark === secretMark(secrets.current)) {
    return new StartError(`some content of the database is still encrypted with the previous secret${idOf(stored)}`, {
      advice: `${LIST_ADVICE} it until \`groundstate rotate-secret\` has finished`,
    })
  }
  return new StartError(`the database was created with another secret than ${source}${idOf(stored)}`, {
    advice:
      stored.secret_id === null
        ? FIRST_ADVICE
        : `set GROUNDSTATE_SECRET to it; to replace it, see "Rotate the secret" at /docs/operations of a server`,
  })
}

function idOf({ secret_id: id }: SecretMarks) {
  return id === null ? '' : ` (its id is ${id})`
}

/** Throws a `StartError` unless one of the secrets has the mark, such as that of a backup. */
export async function checkMark(mark: string, config: SecretSettings) {
  const empty = { secret_id: null, next_secret_mark: null, next_secret_id: null, retired_secret_marks: [] }
  await checkSecrets({ ...empty, secret_mark: mark }, config)
}

/** Undefined before the first start. */
export async function findMarks(client: pg.Client): Promise<SecretMarks | undefined> {
  const { rows } = await client.query<SecretMarks>(
    'select secret_mark, secret_id, next_secret_mark, next_secret_id, retired_secret_marks from installation',
  )
  return rows[0]
}

/** Throws a `StartError` if the current secret seals everything already, and a listed one has never been used: it is the next one. */
export function requireNoNext(stored: SecretMarks, { current, previous }: SecretSet) {
  if (stored.next_secret_mark !== null || stored.secret_mark !== secretMark(current)) return
  const next = previous.find((secret) => !stored.retired_secret_marks.includes(secretMark(secret)))
  if (next === undefined) return
  const [id, nextId] = [current, next].map(shownKeyId)
  throw new StartError(`the secret ${id} is in use, and no server has used ${nextId} yet`, {
    advice: `to replace it, restart all servers with ${nextId} as GROUNDSTATE_SECRET and ${id} in GROUNDSTATE_PREVIOUS_SECRETS, and run this command so too`,
  })
}

/** Id of the advisory lock of `groundstate rotate-secret`, arbitrary but constant. */
export const ROTATION_LOCK = 7_077_003

/** Throws a `StartError` while the secret is being replaced. Requires the migration lock. */
export async function requireNoChange(client: pg.Client) {
  const { rows } = await client.query<{ id: string | null; place: string | null; locked: boolean }>(
    `select next_secret_id as id, blob_store_place as place,
       exists (select from pg_locks where locktype = 'advisory' and objid = ${ROTATION_LOCK} and classid = 0
         and database = (select oid from pg_database where datname = current_database())) as locked
     from installation`,
  )
  const [row] = rows
  if (row === undefined || (row.id === null && !row.locked)) return
  const next = row.id === null ? '' : ` by the one with the id ${row.id}`
  throw new StartError(`the secret is being replaced${next}`, {
    advice: `finish it first, with the blobs in ${row.place ?? 'the store in use'}: restart all servers with the new secret, and run \`groundstate rotate-secret\``,
  })
}

/**
 * Throws a `StartError` while blobs are being moved to another store: copies that were made already would keep the other secret. Requires the
 * migration lock.
 */
export async function requireNoBlobMove(client: pg.Client) {
  const { rows } = await client.query<{ place: string | null }>('select blob_move_place as place from installation')
  const place = rows[0]?.place ?? null
  if (place === null) return
  throw new StartError(`the secret cannot be replaced while blobs are being moved to ${place}`, {
    advice:
      'finish it first with the earlier secret: run `groundstate migrate-storage` again; to give it up before a server uses the new store, run it with `--to` the old one',
  })
}

/** Records that servers seal with this secret from now on. Throws a `StartError` while blobs are being moved. Requires the migration lock. */
export async function startChange(client: pg.Client, stored: SecretMarks, secrets: SecretSet) {
  await requireNoBlobMove(client)
  await client.query('update installation set next_secret_mark = $1, next_secret_id = $2, secret_id = $3', [
    secretMark(secrets.current),
    shownKeyId(secrets.current),
    ownId(stored, secrets),
  ])
  await keepDigestKey(client, stored, secrets)
}

/** Digests outlive the secret, so their key is stored before the secret that it was derived from is removed. */
async function keepDigestKey(client: pg.Client, stored: SecretMarks, secrets: SecretSet) {
  const key = digestKeyOf(markedSecret(stored, secrets))
  const sealed = createSecrets(secrets).seal(key, sealedDigestKey.context({}))
  await client.query('update installation set digest_key = $1 where digest_key is null', [sealed])
}

/** Retires all secrets of the database but the current one: a server that seals with one of them does not start any more. */
export async function retireOthers(client: pg.Client, stored: SecretMarks, { current }: SecretSet) {
  const own = secretMark(current)
  const retired = [stored.secret_mark, stored.next_secret_mark].filter((mark) => mark !== null && mark !== own)
  await client.query(
    `update installation set retired_secret_marks =
       array(select distinct unnest(retired_secret_marks || $1::text[]))`,
    [retired],
  )
}

/** Records that nothing is sealed with another secret than the current one. */
export async function finishChange(client: pg.Client, { current }: SecretSet) {
  await client.query(
    'update installation set secret_mark = $1, secret_id = $2, next_secret_mark = null, next_secret_id = null',
    [secretMark(current), shownKeyId(current)],
  )
}

/** The secret whose mark the database has. */
export function markedSecret(
  { secret_mark: mark }: Pick<SecretMarks, 'secret_mark'>,
  { current, previous }: SecretSet,
) {
  return previous.find((secret) => secretMark(secret) === mark) ?? current
}

function ownId(stored: SecretMarks, secrets: SecretSet) {
  return shownKeyId(markedSecret(stored, secrets))
}

/** Throws a `StartError` unless a running server has all secrets of the database and seals with one that is in use. */
export function requireUsable(stored: SecretMarks, secrets: SecretSet, config: SecretSettings) {
  checkSet(stored, secrets, config)
  if (isInUse(stored, secrets.current)) return
  throw new StartError(`no server uses the secret in ${secretSource(config)} (id ${shownKeyId(secrets.current)}) yet`, {
    advice: 'start the servers with it first',
  })
}

/** First key of advisory locks; the second is the id of a secret, and the holders are the listening connections of the servers that have it. */
export const ACCEPTED_LOCK = 7_077_004

/**
 * Throws a `StartError` if a running server lacks the secret. Servers of earlier releases hold no lock, and pass. Call it after `startChange`, in its
 * transaction: a server that connects meanwhile waits for the commit, and then sees the new secret.
 */
async function requireAccepted(client: pg.Client, current: Buffer, config: SecretSettings) {
  const { rows } = await client.query<{ name: string }>(
    `select split_part(a.application_name, ' ', 2) || coalesce(' at ' || host(a.client_addr), '') as name
       from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = ${ACCEPTED_LOCK} and a.datname = current_database()
      group by 1 having not bool_or(l.objid::bigint = $1) order by 1`,
    [keyId(current).readUInt32BE()],
  )
  const [server] = rows
  if (server === undefined) return
  const secret = `the secret in ${secretSource(config)} (id ${shownKeyId(current)})`
  throw new StartError(`the running server ${server.name} does not have ${secret}`, {
    advice: `first ${LIST_ADVICE} it for all servers and restart them, step 1 of "Rotate the secret" at /docs/operations of a server, or stop them`,
  })
}

/** Whether servers already seal with this secret. */
export function isInUse(stored: SecretMarks, secret: Buffer) {
  const mark = secretMark(secret)
  return stored.secret_mark === mark || stored.next_secret_mark === mark
}

function secretMark(secret: Buffer) {
  return createSecrets({ current: secret, previous: [] }).sign('installation', 'secret-mark')
}
