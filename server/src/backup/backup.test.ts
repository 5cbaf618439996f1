import { cpSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  statfs,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createBlobs } from '../blobs/blobs.ts'
import { type Config, readConfig } from '../config.ts'
import { migrate } from '../db/migrate.ts'
import { requireSameInstallation } from '../installation.ts'
import { startPostgres } from '../postgres/postgres.ts'
import { atEnd } from '../testing/cleanup.ts'
import { execute } from '../testing/database.ts'
import { createBackup } from './backup.ts'
import { checkSpace } from './copy.ts'
import { requireNoRestore, restoreBackup, verifyBackup } from './restore.ts'

const SECRET = '11'.repeat(32)
const KEYS = ['logs/plan-aaaaaaaaaaaaaaaa/0', 'state-versions/sv-aaaaaaaaaaaaaaaa/raw']
const TLS = ['ca-key.pem', 'ca.pem', 'server-key.pem', 'server.pem']

let directory: string
let config: Config
let url: string
/** Directory of the backups of one test. */
let parent: string
/** A backup of database and blobs. */
let whole: string

const configOf = (name: string) =>
  readConfig({ GROUNDSTATE_DATA_DIR: join(directory, name), GROUNDSTATE_SECRET: SECRET })

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'groundstate-backups-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  // PostgreSQL runs as another user if this is root.
  await chmod(directory, 0o711)
  config = configOf('data')
  const postgres = await startPostgres({ dataDir: config.dataDir, log: { info() {}, warn() {} }, fsync: false })
  atEnd(async () => postgres[Symbol.asyncDispose]())
  url = postgres.url
  await migrate(url, { afterwards: async (client) => requireSameInstallation(client, config) })
  const store = { kind: 'disk' as const, root: join(config.dataDir, 'blobs') }
  await using blobs = await createBlobs({ secret: Buffer.from(SECRET, 'hex'), store })
  for (const key of KEYS) await blobs.put(key, Buffer.from(key))
  await mkdir(join(config.dataDir, 'tls'))
  for (const name of TLS) await writeFile(join(config.dataDir, 'tls', name), name)
  parent = join(directory, 'whole')
  whole = (await backUp({ blobsOnly: false })).path
}, 60_000)

beforeEach(async () => {
  parent = await mkdtemp(join(directory, 'backups-'))
})

/** `onFirst` is called once bytes have been copied. */
function watchOf(onFirst: () => void = () => {}) {
  let isFirst = true
  const add = () => {
    if (isFirst) onFirst()
    isFirst = false
  }
  return { add, total() {}, signal: new AbortController().signal }
}

async function backUp({ watch = watchOf(), blobsOnly = true, includeSecret = false } = {}) {
  const options = { parent, full: false, blobsOnly, includeSecret, watch }
  return createBackup(config, { url, close: async () => {} }, options)
}

async function restore(source: string, name: string, watch = watchOf()) {
  return restoreBackup(configOf(name), { source, watch })
}

test('a backup neither disturbs another one in its directory, from whatever host, nor waits for a killed one', async () => {
  const [lock, partial] = ['backup.lock', '2026-01-01T00-00-00-000Z.partial']
  await writeFile(join(parent, lock), 'elsewhere 1 x y\n')
  await mkdir(join(parent, partial))

  await expect(backUp()).rejects.toThrow(`another backup to ${parent} is running (process 1 of elsewhere)`)
  expect(await readdir(parent)).toEqual([partial, lock])
  await utimes(join(parent, lock), 0, 0)
  const { path } = await backUp()
  expect(await readdir(parent)).toEqual([basename(path)])
})

test('of two backups that start at the same time, one is refused', async () => {
  // With the database, so that the other one asks for the directory before it ends.
  const outcomes = await Promise.allSettled([1, 2].map(async () => backUp({ blobsOnly: false })))

  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  expect(refused).toEqual([expect.stringContaining(`another backup to ${parent} is running`)])
})

test.each([
  ['a damaged', 'blobs.sha256', (text: string) => text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))],
  ['a missing', 'blobs.sha256', undefined],
  ['an unreadable', 'blobs.sha256', 'directory'],
  ['a damaged', 'backup.json', (text: string) => text.slice(1)],
  ['an unreadable', 'backup.json', 'directory'],
])('with %s %s in the latest backup, all is copied', async (_, name, change) => {
  const { path: first } = await backUp()
  const file = join(first, name)
  const text = await readFile(file, 'utf8')
  await rm(file)
  if (change === 'directory') await mkdir(file)
  else if (typeof change === 'function') await writeFile(file, change(text))

  const second = await backUp()
  const third = await backUp()

  expect([second.damaged, second.added.blobs, second.manifest.blobs?.sha256]).toEqual([
    first,
    KEYS.length,
    expect.stringMatching(/^[0-9a-f]{64}$/),
  ])
  expect([third.damaged, third.added.blobs]).toEqual([undefined, 0])
  await verifyBackup({ source: third.path, watch: watchOf() })
})

test('a backup is refused in the data directory, also by a link or in a directory that does not exist', async () => {
  const link = join(parent, 'link')
  await symlink(config.dataDir, link)

  for (const path of [config.dataDir, join(config.dataDir, 'new/backups'), link, join(link, 'new')]) {
    parent = path
    await expect(backUp()).rejects.toThrow(`${path} is in the data directory ${config.dataDir}`)
  }
  expect(await readdir(config.dataDir)).not.toContain('new')
})

test('files that a backup does not list are named', async () => {
  const { path } = await backUp()
  const extra = join(path, 'blobs/objects/0/extra')
  await writeFile(extra, '')

  await expect(verifyBackup({ source: path, watch: watchOf() })).rejects.toThrow(`${extra} is not part of the backup`)
})

test('a backup fails if servers begin to use another store during it', async () => {
  const { rows } = await execute(url, 'select blob_store_id as id from installation')
  onTestFinished(async () => void (await execute(url, `update installation set blob_store_id = '${rows[0]?.['id']}'`)))
  let moved: Promise<unknown> | undefined
  const watch = watchOf(() => {
    moved = execute(url, `update installation set blob_store_id = 'moved', blob_store_place = 'the bucket x'`)
  })

  await expect(backUp({ watch, blobsOnly: false })).rejects.toThrow('blobs are being moved to the bucket x')
  await moved
  expect(await readdir(parent)).toEqual([])
})

test('two restores into one directory do not disturb each other', async () => {
  let second: Promise<unknown> | undefined
  const watch = watchOf(() => void (second = restore(whole, 'restored').catch(String)))

  await restore(whole, 'restored', watch)

  expect(await second).toContain(`another restore into ${configOf('restored').dataDir} is running`)
  expect(await readdir(configOf('restored').dataDir)).toEqual(['blobs', 'postgres'])
  await expect(restore(whole, 'restored')).rejects.toThrow('is not empty: it has blobs, postgres')
})

/** A backup with keys, and a data directory without a secret to restore it into. */
async function backUpKeys() {
  const { path } = await backUp({ includeSecret: true })
  const dataDir = join(parent, 'restored')
  return { path, dataDir, empty: readConfig({ GROUNDSTATE_DATA_DIR: dataDir }) }
}

/** Makes a backup one from before there were checksums of keys. */
async function removeKeySums(path: string) {
  const manifest = join(path, 'backup.json')
  const { keys: _, ...earlier } = JSON.parse(await readFile(manifest, 'utf8'))
  await writeFile(manifest, JSON.stringify(earlier))
  await rm(join(path, 'keys.sha256'))
}

async function keysIn(dataDir: string) {
  const tls = await readdir(join(dataDir, 'tls'))
  const contents = tls.map(async (name) => readFile(join(dataDir, 'tls', name), 'utf8'))
  return [await readFile(join(dataDir, 'secret'), 'utf8'), ...(await Promise.all(contents))]
}

test.each([
  ['missing', 'keys', 'keys/secret is missing', undefined],
  ['damaged', 'keys/secret', 'keys/secret is damaged', '22'.repeat(32)],
  ['damaged', 'keys/tls/ca-key.pem', 'keys/tls/ca-key.pem is damaged', 'ca-key'],
  ['missing', 'keys/tls/server.pem', 'keys/tls/server.pem is missing', undefined],
  ['damaged', 'keys.sha256', 'keys.sha256 is damaged', ''],
  ['missing', 'keys.sha256', 'keys.sha256 is missing', undefined],
])('a %s %s is named by the check and by the restore, which keeps nothing', async (_, name, message, content) => {
  const { path, dataDir, empty } = await backUpKeys()
  if (content === undefined) await rm(join(path, name), { recursive: true })
  else await writeFile(join(path, name), content)

  await expect(verifyBackup({ source: path, watch: watchOf() })).rejects.toThrow(join(path, message))
  await expect(restoreBackup(empty, { source: path, watch: watchOf() })).rejects.toThrow(join(path, message))
  expect(await readdir(dataDir)).toEqual([])
})

test('a file added to the keys is named by the check', async () => {
  const { path } = await backUpKeys()
  const extra = join(path, 'keys/tls/extra')
  await writeFile(extra, '')

  await expect(verifyBackup({ source: path, watch: watchOf() })).rejects.toThrow(`${extra} is not part of the backup`)
})

test('keys without checksums are restored if the secret is that of the backup', async () => {
  const { path, dataDir, empty } = await backUpKeys()
  await removeKeySums(path)
  // An empty directory is no key.
  await mkdir(join(dataDir, 'tls'), { recursive: true })

  await verifyBackup({ source: path, watch: watchOf() })
  await restoreBackup(empty, { source: path, watch: watchOf() })
  expect(await keysIn(dataDir)).toEqual([`${SECRET}\n`, ...TLS])

  await writeFile(join(path, 'keys/secret'), '22'.repeat(32))
  await expect(verifyBackup({ source: path, watch: watchOf() })).rejects.toThrow('keys/secret is damaged')
  await rm(join(path, 'keys/secret'))
  await expect(verifyBackup({ source: path, watch: watchOf() })).rejects.toThrow('keys/secret is missing')
})

test('keys that the data directory has replace damaged ones of the backup', async () => {
  const { path, dataDir, empty } = await backUpKeys()
  await rm(join(path, 'keys'), { recursive: true })
  await mkdir(join(dataDir, 'tls'), { recursive: true })
  await writeFile(join(dataDir, 'secret'), SECRET)
  for (const name of TLS) await writeFile(join(dataDir, 'tls', name), `own ${name}`)

  await restoreBackup(empty, { source: path, watch: watchOf() })

  expect(await keysIn(dataDir)).toEqual([SECRET, ...TLS.map((name) => `own ${name}`)])
})

test('a restore is refused if the data directory has some of the TLS keys', async () => {
  const { path, dataDir, empty } = await backUpKeys()
  await mkdir(join(dataDir, 'tls'), { recursive: true })
  await writeFile(join(dataDir, 'tls/ca-key.pem'), 'ca-key.pem')

  const outcome = restoreBackup(empty, { source: path, watch: watchOf() })

  await expect(outcome).rejects.toThrow(`${join(dataDir, 'tls')} lacks ca.pem, which the backup has`)
  expect(await readdir(dataDir)).toEqual(['tls'])
})

test('a restore that was killed at any file keeps the server from starting, and can be repeated with all keys', async () => {
  const { path, dataDir, empty } = await backUpKeys()
  const states: string[] = []
  const add = () => {
    const state = join(parent, `killed-${states.length}`)
    cpSync(dataDir, state, { recursive: true })
    states.push(state)
  }
  await restoreBackup(empty, { source: path, watch: { ...watchOf(), add } })

  for (const state of states) {
    await expect(requireNoRestore(state)).rejects.toThrow('was interrupted')
    await rm(join(state, 'restore.lock'))
    await restoreBackup(readConfig({ GROUNDSTATE_DATA_DIR: state }), { source: path, watch: watchOf() })
    expect(await keysIn(state)).toEqual([`${SECRET}\n`, ...TLS])
    expect((await readdir(state)).toSorted()).toEqual(['blobs', 'secret', 'tls'])
  }
  expect(states.length).toBeGreaterThan(TLS.length + KEYS.length)
})

test.each([
  ['a path outside of the directory', /"directories": \[/, '$&"../../escaped",', 'backup.json is damaged'],
  ['a database of another major version', /"postgres": "\d+"/, '"postgres": "14"', 'has a database of PostgreSQL 14'],
])('a backup with %s is refused, and nothing is restored', async (_, pattern, replacement, message) => {
  const manifest = join(whole, 'backup.json')
  const text = await readFile(manifest, 'utf8')
  onTestFinished(async () => writeFile(manifest, text))
  await writeFile(manifest, text.replace(pattern, replacement))
  const name = basename(parent).replace('backups', 'refused')

  await expect(restore(whole, name)).rejects.toThrow(message)
  expect(await readdir(configOf(name).dataDir).catch(() => [])).toEqual([])
})

test('a backup of the embedded database is not restored into another one; the message names the way', async () => {
  const external = { ...configOf('external'), databaseUrl: 'postgresql://groundstate@127.0.0.1:1/groundstate' }

  const outcome = restoreBackup(external, { source: whole, watch: watchOf() })

  await expect(outcome).rejects.toThrow(
    'GROUNDSTATE_DATABASE_URL is set; unset it, or copy the states alone: see "From a trial',
  )
})

test.runIf(process.geteuid?.() === 0)('root does not restore into the directory of another user', async () => {
  const { dataDir } = configOf('of-another-user')
  await mkdir(dataDir)
  await chown(dataDir, 12_345, 12_345)
  await writeFile(join(dataDir, 'secret'), SECRET)

  await expect(restore(whole, 'of-another-user')).rejects.toThrow(`${dataDir} belongs to the user id 12345`)
  expect(await readdir(dataDir)).toEqual(['secret'])
})

test('the needs of directories on one file system add up', async () => {
  const { bavail, bsize } = await statfs(directory)
  const bytes = Math.floor(bavail * bsize * 0.6)

  await checkSpace([{ directory, bytes }])
  await expect(
    checkSpace([
      { directory, bytes },
      { directory: parent, bytes },
    ]),
  ).rejects.toThrow(`${parent} has `)
})

/** Another file system than that of temporary directories on most Linux hosts. */
const OTHER = '/dev/shm'
const isOther = await Promise.all([OTHER, tmpdir()].map(async (path) => stat(path))).then(
  ([other, own]) => other?.dev !== own?.dev,
  () => false,
)

test('the needs of directories on different file systems do not add up', async ({ skip }) => {
  if (!isOther) skip(`${OTHER} is missing, or on the file system of ${tmpdir()}`)
  const free = async (path: string) => {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  }
  const [own, other] = [await free(directory), await free(OTHER)]
  const bytes = Math.floor(Math.min(own, other) * 0.6)
  const needs = [directory, OTHER].map((path) => ({ directory: path, bytes }))

  await checkSpace(needs)
  await checkSpace(needs.toReversed())
  await expect(
    checkSpace([
      { directory, bytes: 1 },
      { directory: OTHER, bytes: other * 2 },
    ]),
  ).rejects.toThrow(`${OTHER} has `)
})
