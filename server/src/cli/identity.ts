import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SYSTEM } from '../auth/actor.ts'
import { createDatabaseClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { connectDatabase, databaseName } from '../db/connect.ts'
import { createDb } from '../db/db.ts'
import { makeDirectory } from '../directory.ts'
import { AppError } from '../errors.ts'
import {
  CONFIGURATION_PATH,
  isExternalIssuer,
  jwks,
  KEYS_PATH,
  openidConfiguration,
} from '../features/runs/identity-keys/issuer.ts'
import type { IdentityKey } from '../features/runs/identity-keys/key-states.ts'
import { publicationProblem } from '../features/runs/identity-keys/published.ts'
import {
  activateIdentityKey,
  type KeyCtx,
  listPublishedKeys,
  rotateIdentityKeys,
  withdrawIdentityKey,
  withIssuer,
} from '../features/runs/identity-keys/service.ts'
import { newId } from '../ids.ts'
import { openSecrets } from '../secret-rotation/open.ts'
import { checkSecret, findMarks } from '../secrets/mark.ts'
import type { SecretSet } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { openDatabase } from './database.ts'

/** Lists the keys that sign the identity tokens of runs. */
export async function identityKeysCommand(config: Config): Promise<number> {
  const keys = await withKeys(config, listPublishedKeys)
  for (const { row, state, expiresAt } of keys) {
    const until = expiresAt === null ? '' : `, published until ${expiresAt.toISOString()}`
    process.stdout.write(`${row.key_id}  ${state.padEnd(8)}  ${signsFrom(row.activates_at)}${until}\n`)
  }
  return 0
}

/** Publishes a new key. */
export async function identityRotateCommand(config: Config): Promise<number> {
  const [{ row, state }, { issuerUrl, baseUrl }] = await withKeys(config, async (ctx) => [
    await rotateIdentityKeys(ctx),
    ctx.config,
  ])
  const next = isExternalIssuer({ issuerUrl, baseUrl })
    ? `Run \`groundstate identity export\`, upload both documents to ${issuerUrl}, and then run \`groundstate identity activate\`: until then the former key signs.`
    : 'To use it earlier, run `groundstate identity activate` in five minutes.'
  process.stdout.write(
    `The key ${row.key_id} is published and ${signsFrom(row.activates_at)}.\n${state === 'next' ? `${next}\n` : ''}`,
  )
  return 0
}

function signsFrom(at: Date | null) {
  return at === null ? 'waits for its activation' : `signs from ${at.toISOString()}`
}

/** Makes the next key sign now. `force` omits the check that the issuer's address has it. */
export async function identityActivateCommand(config: Config, { force }: { force: boolean }): Promise<number> {
  const { row } = await withKeys(config, async (ctx) => {
    const next = (await listPublishedKeys(ctx)).find(({ state }) => state === 'next')
    // Services would refuse tokens of a key that they cannot find.
    const problem = next && !force ? await publicationProblem(ctx.config, next.row.key_id) : undefined
    if (problem !== undefined)
      throw new StartError(problem, { advice: 'upload the documents first; --force activates it anyway' })
    return activateIdentityKey(ctx, { force })
  })
  process.stdout.write(`The key ${row.key_id} signs now.\n`)
  return 0
}

/** Removes a previous key from the published ones. */
export async function identityWithdrawCommand(config: Config, keyId: string): Promise<number> {
  const isExternal = await withKeys(config, async (ctx) => {
    await withdrawIdentityKey(ctx, keyId)
    return isExternalIssuer(ctx.config)
  })
  const next = isExternal ? 'Export and upload the documents: until then its tokens are accepted.\n' : ''
  process.stdout.write(`The key ${keyId} is no longer published.\n${next}`)
  return 0
}

/** Writes the two documents of the issuer for any host of static files. */
export async function identityExportCommand(config: Config, directory: string): Promise<number> {
  const { keys, issuer, isExternal } = await withKeys(config, async (ctx) => ({
    keys: await listPublishedKeys(ctx),
    issuer: ctx.config.issuerUrl ?? ctx.config.baseUrl,
    isExternal: isExternalIssuer(ctx.config),
  }))
  if (issuer === undefined)
    throw new StartError('the documents need the address of the issuer', { advice: 'set GROUNDSTATE_ISSUER_URL' })
  const documents = { [KEYS_PATH]: jwks(keys), [CONFIGURATION_PATH]: openidConfiguration(issuer) }
  const paths: string[] = []
  for (const [path, document] of Object.entries(documents)) paths.push(await writeDocument(directory, path, document))
  const next = keys.find(({ state }) => state === 'next')
  process.stdout.write(
    [
      `Wrote ${paths.join('\nand   ')}`,
      `Serve them with the content type application/json at`,
      ...[KEYS_PATH, CONFIGURATION_PATH].map((path) => `  ${issuer}${path}`),
      ...(next ? [nextStep(next)] : []),
      'Export and upload them again after each `groundstate identity rotate`.',
      '',
    ].join('\n'),
  )
  if (!isExternal)
    process.stderr.write(
      `groundstate: the issuer ${issuer} is this server's own address, where it serves these documents itself; for another one set GROUNDSTATE_ISSUER_URL\n`,
    )
  return 0
}

function nextStep({ row: { key_id: keyId, activates_at: at } }: IdentityKey) {
  return at === null
    ? `Then run \`groundstate identity activate\`: the key ${keyId} waits for it.`
    : `Upload them soon: the key ${keyId} signs from ${at.toISOString()}.`
}

/** Replaces the file atomically: it may be served from its place. */
async function writeDocument(directory: string, path: string, document: object) {
  const target = resolve(join(directory, path))
  const draft = `${target}.${process.pid}`
  await makeDirectory(dirname(target))
  try {
    await writeFile(draft, `${JSON.stringify(document, undefined, 2)}\n`, { mode: 0o644 })
    await rename(draft, target)
  } finally {
    await rm(draft, { force: true })
  }
  return target
}

/** Works on the keys in the database, with the secret of the installation and the time of the database. */
async function withKeys<T>(config: Config, work: (ctx: KeyCtx) => Promise<T>): Promise<T> {
  await using database = await openDatabase(config)
  const set = await requireSecrets(database.url, config)
  await using stack = new AsyncDisposableStack()
  const db = stack.adopt(createDb(database.url, { max: 2 }), (connected) => connected.destroy())
  const warn = (details: unknown, message?: string) =>
    process.stderr.write(`groundstate: ${message ?? String(details)}\n`)
  const clock = stack.use(await createDatabaseClock(db, { warn } as Parameters<typeof createDatabaseClock>[1]))
  const secrets = await openSecrets(db, set)
  try {
    return await work({ db, config: await withIssuer(db, config), secrets, now: clock.now, newId, actor: SYSTEM })
  } catch (error) {
    if (error instanceof AppError) throw new StartError(error.message, { cause: error })
    throw error
  }
}

async function requireSecrets(url: string, config: Config): Promise<SecretSet> {
  const client = await connectDatabase(url, 'groundstate-identity')
  try {
    const { rows } = await client.query(`select where to_regclass('public.identity_keys') is not null`)
    const marks = rows.length > 0 ? await findMarks(client) : undefined
    if (marks === undefined)
      throw new StartError(`the database ${databaseName(client)} has no keys for identity tokens`, {
        advice: 'start this version of the server with it first',
      })
    return await checkSecret(marks, config)
  } finally {
    await client.end()
  }
}
