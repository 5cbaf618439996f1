import type pg from 'pg'
import { configuredStore, requireNoMove, requireSameStore, signStoreId } from '../blobs/blob-store.ts'
import { createBlobs } from '../blobs/blobs.ts'
import type { Config } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { type Db, createDb } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { SEALED_COLUMNS, SEALED_JOB_PROPERTIES } from '../features/sealed.ts'
import { openSecrets } from '../secret-rotation/open.ts'
import {
  type Progress,
  type RotationContext,
  forgetPosition,
  resealBlobs,
  resealDatabase,
  staleParts,
} from '../secret-rotation/rotate.ts'
import { keyId, shownKeyId } from '../secrets/key-id.ts'
import {
  checkSecrets,
  findMarks,
  finishChange,
  isInUse,
  requireNoBlobMove,
  requireNoNext,
  retireOthers,
  ROTATION_LOCK,
  startChange,
} from '../secrets/mark.ts'
import { type SecretSet, createSecrets, sealedPrefix } from '../secrets/secrets.ts'
import { listServersWithOtherSecret } from '../signals.ts'
import { StartError } from '../start-error.ts'
import { openDatabase, requireMigrated } from './database.ts'

const SEALED = { columns: SEALED_COLUMNS, jobs: SEALED_JOB_PROPERTIES }
const MAX_SHOWN = 10
/** Time between lines about the progress, in ms. */
const REPORT_MS = 5000

/**
 * Seals everything with the current secret, while servers run. It can be killed and run again. `skipUnreadable` finishes although some content cannot be
 * decrypted. Throws a `StartError`.
 */
export async function rotateSecretCommand(
  config: Config,
  { skipUnreadable }: { skipUnreadable: boolean },
): Promise<number> {
  await using database = await openDatabase(config)
  await using stack = new AsyncDisposableStack()
  const client = stack.adopt(await connectDatabase(database.url, 'groundstate-rotate-secret'), (opened) => opened.end())
  await lockRotation(client)
  await requireMigrated(client)
  const db = stack.adopt(createDb(database.url, { max: 4 }), (connected) => connected.destroy())
  const set = await begin(database.url, db, config)
  const store = configuredStore(config)
  const secrets = await openSecrets(db, set)
  const blobs = stack.use(await createBlobs({ store, secret: set.current, previousSecrets: set.previous }))
  const ctx: RotationContext = {
    db,
    secrets,
    blobs,
    prefix: sealedPrefix(set.current),
    now: () => new Date(),
    report: reporter(),
  }
  process.stdout.write(`Encrypting everything with the secret ${shownKeyId(set.current)}\n`)

  await resealDatabase(ctx, SEALED)
  await resealBlobs(ctx)
  await requireOneSecret(ctx, set, forgetPosition)
  // Servers with another secret may have written until now, and before the position of an interrupted rotation; none of them is left.
  await forgetPosition(ctx)
  const check = { ...ctx, report: () => {} }
  const rows = await resealDatabase(check, SEALED)
  const unreadable = [...rows, ...(await resealBlobs(check))]
  await signStoreId(store, secrets)
  const left = await staleParts(ctx, SEALED)
  const isLeft = left.reduce((sum, { count }) => sum + count, 0) > rows.length
  if (isLeft || (unreadable.length > 0 && !skipUnreadable)) return reportUnreadable(unreadable, left)

  await finishChange(client, set)
  await forgetPosition(ctx)
  process.stdout.write(ending(set, unreadable))
  return 0
}

async function lockRotation(client: pg.Client) {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${ROTATION_LOCK}) as locked`)
  if (rows[0]?.locked !== true)
    throw new StartError('another `groundstate rotate-secret` is running on this database', { advice: 'let it finish' })
}

/** Records that only the current secret seals from now on. Throws a `StartError` if a server seals with another one. */
async function begin(url: string, db: Db, config: Config): Promise<SecretSet> {
  let secrets: SecretSet | undefined
  await migrate(url, {
    async afterwards(client) {
      const marks = await findMarks(client)
      if (marks === undefined)
        throw new StartError('no server has used the database yet', { advice: 'start one first' })
      secrets = await checkSecrets(marks, config)
      requireNoNext(marks, secrets)
      await requireNoBlobMove(client)
      // Before the next check, which would switch to the target of a move.
      await requireNoMove(configuredStore(config), createSecrets(secrets))
      await requireSameStore(client, config, { isNew: false })
      await requireOneSecret({ db }, secrets)
      if (!isInUse(marks, secrets.current)) await startChange(client, marks, secrets)
      await retireOthers(client, (await findMarks(client)) ?? marks, secrets)
    },
  })
  if (secrets === undefined) throw new Error('the secrets were not checked')
  return secrets
}

async function requireOneSecret<Context extends { db: Db }>(
  ctx: Context,
  { current }: SecretSet,
  otherwise: (ctx: Context) => Promise<void> = async () => {},
) {
  const others = await listServersWithOtherSecret(ctx.db, keyId(current).readInt32BE())
  if (others.length === 0) return
  await otherwise(ctx)
  const shown = others.map(
    ({ address, connected_at: at }) => `${address ?? 'this machine'} (since ${at.toISOString()})`,
  )
  throw new StartError(
    `${others.length === 1 ? 'a server still encrypts' : `${others.length} servers still encrypt`} with another secret than ${shownKeyId(current)}: ${shown.join(', ')}`,
    {
      advice:
        'restart all servers with the new secret as GROUNDSTATE_SECRET and the other one in GROUNDSTATE_PREVIOUS_SECRETS, and run this command again',
    },
  )
}

/** Prints finished parts that had something to do, and the progress of blobs now and then. */
function reporter() {
  let shownAt = performance.now()
  return ({ part, done, isFinished }: Progress) => {
    if (isFinished ? done === 0 : performance.now() - shownAt < REPORT_MS) return
    shownAt = performance.now()
    process.stdout.write(`  ${part.padEnd(40)} ${done}${isFinished ? '' : ' …'}\n`)
  }
}

function reportUnreadable(unreadable: readonly string[], left: readonly { name: string; count: number }[]) {
  const lines = [
    ...unreadable.slice(0, MAX_SHOWN),
    ...(unreadable.length > MAX_SHOWN ? [`and ${unreadable.length - MAX_SHOWN} more`] : []),
    ...left.map(({ name, count }) => `${name}: ${count} left`),
  ]
  for (const line of lines) process.stderr.write(`groundstate: ${line}\n`)
  process.stderr.write(
    'groundstate: not finished: keep the other secrets; list in GROUNDSTATE_PREVIOUS_SECRETS those that are missing, or finish with --skip-unreadable what is damaged\n',
  )
  return 1
}

function ending({ current, previous }: SecretSet, unreadable: readonly string[]) {
  const skipped = unreadable.length === 0 ? '' : `Skipped ${unreadable.length} that cannot be decrypted.\n`
  const removable = previous.map(shownKeyId).join(', ')
  const next =
    previous.length === 0
      ? ''
      : `Remove ${removable} from GROUNDSTATE_PREVIOUS_SECRETS, or the file previous-secrets, and restart the servers. Backups made before still need it.\n`
  return `${skipped}Nothing is encrypted with another secret than ${shownKeyId(current)} any more.\n${next}`
}
