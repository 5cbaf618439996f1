import { createHash, randomBytes } from 'node:crypto'
import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { startCollector } from '../agent/src/testing/collector.ts'
import { createS3Server, type S3Server } from '../server/src/blobs/testing/s3-server.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { startMailServer } from '../server/src/testing/mail-server.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { createTransactionPooler } from '../server/src/testing/transaction-pooler.ts'
import { type Cases, describeBlocks, filled, hasSandbox, runShell, variablesSetBy } from './documented-commands.ts'
import { bootDatabase } from './replicas/database.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'
import { hasTerraform } from './terraform.ts'

/** Runs each block of commands for operators, with an installation in the state that the text before the block describes. */

const NO_AGENTS = { GROUNDSTATE_AGENTS: '0' }

const ROOT = join(import.meta.dirname, '..')
/** Parent of the installations, and of what appears at documented paths. */
let directory: string
/** An installation with the embedded database and blobs on disk. */
let data: { GROUNDSTATE_DATA_DIR: string }
/** An installation with its own PostgreSQL, whose blobs are moved from disk to a bucket. */
let external: { GROUNDSTATE_DATA_DIR: string; GROUNDSTATE_DATABASE_URL: string }
let bucket: Record<string, string>
let s3: S3Server
/** Digests of the states of both installations, by id. */
const known = { data: new Map<string, string>(), external: new Map<string, string>() }

beforeAll(async () => {
  if (!hasSandbox || !hasTerraform) return
  directory = await mkdtemp(join(tmpdir(), 'groundstate-operations-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  // Otherwise root's databases would move to a directory that their user can enter.
  await chmod(directory, 0o755)
  for (const name of ['backups', 'work']) await mkdir(join(directory, name))
  const { port } = await bootDatabase(directory)
  data = { GROUNDSTATE_DATA_DIR: join(directory, 'data') }
  external = {
    GROUNDSTATE_DATA_DIR: join(directory, 'external'),
    GROUNDSTATE_DATABASE_URL: `postgresql://groundstate@127.0.0.1:${port}/groundstate`,
  }
  s3 = await createS3Server()
  atEnd(() => s3[Symbol.asyncDispose]())
  bucket = {
    GROUNDSTATE_S3_ENDPOINT: s3.config.endpoint,
    GROUNDSTATE_S3_BUCKET: s3.config.bucket,
    GROUNDSTATE_S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
  }
})

/** Starts a server of an installation, until the end of the test. */
const boot = async (settings: Record<string, string>) => bootServer({ ...NO_AGENTS, ...settings })

const digest = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

/** Stores a state that is kept in a row, and one that is kept in a blob. */
async function storeStates(
  server: BootedServer,
  workspace: string,
  states: Map<string, string>,
  organization?: string,
) {
  const id = await localWorkspace(server, workspace, organization)
  for (const [index, input] of ['small', randomBytes(250_000).toString('base64')].entries()) {
    const raw = rawState({ serial: index + 1, resources: [{ name: 'one', attributes: { input } }] })
    states.set(await storeState(server, id, raw), digest(raw))
  }
}

/** The states that the server does not have with their content. */
async function lostStates(server: BootedServer, states: ReadonlyMap<string, string>) {
  const lost: string[] = []
  for (const [id, sum] of states) {
    const version = await server.api('GET', `/state-versions/${id}`)
    const response = await fetch(version.data.attributes['hosted-state-download-url'])
    if (digest(Buffer.from(await response.arrayBuffer())) !== sum) lost.push(id)
  }
  return lost
}

/** Digests of the states of an organization, by workspace and serial. */
async function statesOf(server: BootedServer, organization: string) {
  const { data: workspaces } = await server.api('GET', `/organizations/${organization}/workspaces`)
  const found = new Set<string>()
  for (const { attributes } of workspaces) {
    const names = `filter%5Borganization%5D%5Bname%5D=${organization}&filter%5Bworkspace%5D%5Bname%5D=${attributes.name}`
    const list = await server.api('GET', `/state-versions?${names}`)
    for (const version of list.data)
      found.add(`${attributes.name} ${version.attributes.serial} ${version.attributes.md5}`)
  }
  return found
}

/** States that a block has exported. */
let exported: ReadonlySet<string>

async function expectStates(server: BootedServer, states: ReadonlySet<string>, count: number) {
  const found = await statesOf(server, 'main')
  expect([states.size, [...states].filter((state) => !found.has(state))]).toEqual([count, []])
}

const work = () => join(directory, 'work')
const backups = () => join(directory, 'backups')
const portOf = ({ url }: BootedServer) => ({ GROUNDSTATE_PORT: new URL(url).port })

const OPERATIONS: Cases = {
  async 'Back up the data'({ text }) {
    const server = await boot(data)
    await storeStates(server, 'backed-up', known.data)

    const output = await runShell(text, { env: data, cwd: work(), at: { '/var/backups': backups() } })

    const [name = ''] = await readdir(join(backups(), 'groundstate'))
    expect(output).toContain(`Backed up to /var/backups/groundstate/${name}`)
    expect(await readdir(join(backups(), 'groundstate', name))).toEqual(
      expect.arrayContaining(['backup.json', 'blobs', 'database']),
    )
  },

  async 'Restore a backup'({ text }) {
    const output = await runShell(text, { env: data, cwd: work(), at: { '/var/backups': backups() }, isOffline: true })
    const restored = await boot({ GROUNDSTATE_DATA_DIR: join(work(), 'restored') })

    expect(output).toContain('is complete and undamaged')
    expect(output).toContain('All checks passed.')
    expect([known.data.size, await lostStates(restored, known.data)]).toEqual([2, []])
  },

  async 'Restore a backup (2)'({ text }) {
    const [name = ''] = await readdir(join(backups(), 'groundstate'))
    const cwd = join(backups(), 'groundstate', name)

    await runShell(text, { cwd })
    await appendFile(join(cwd, 'database/PG_VERSION'), '!')

    await expect(runShell(text, { cwd })).rejects.toThrow('PG_VERSION: FAILED')
  },

  async 'Move blobs between disk and a bucket'({ text }) {
    const env = { ...external, ...bucket }
    const onDisk = await boot(external)
    await storeStates(onDisk, 'moved', known.external)
    const first = await runShell(text, { env, cwd: work() })
    await onDisk.stop()
    const onBucket = await boot(env)

    const second = await runShell(text, { env, cwd: work() })
    await rm(join(external.GROUNDSTATE_DATA_DIR, 'blobs'), { recursive: true })

    expect([first, second]).toEqual([
      expect.stringContaining('Now stop all servers'),
      expect.stringContaining('All blobs are moved'),
    ])
    expect([known.external.size, await lostStates(onBucket, known.external)]).toEqual([2, []])
  },

  async 'Keep the blobs with their database'({ text }) {
    const blobs = join(data.GROUNDSTATE_DATA_DIR, 'blobs')
    // As in a copy from before ids existed.
    await rename(join(blobs, 'store-id'), join(directory, 'store-id'))
    await expect(boot(data)).rejects.toThrow('groundstate blobs adopt')

    await runShell(text, { env: data, cwd: work() })

    expect(await lostStates(await boot(data), known.data)).toEqual([])
  },

  async 'From a trial to production'(block) {
    const [source, target] = [await boot(data), await boot({ ...external, ...bucket })]
    const addresses = { 'http://127.0.0.1:7777': source.url, 'https://groundstate.example.com': target.url }

    await runShell(filled(block, { '…': ADMIN_TOKEN, ...addresses }), { cwd: work() })

    await expectStates(target, await statesOf(source, 'main'), 2)
  },

  async 'Use a bucket'({ text }) {
    const env = { ...external, ...bucket, GROUNDSTATE_PORT: String(await freePort()) }

    const output = await runShell(text, { env, cwd: work() })

    expect(output).toMatch(/✓ blobs +the bucket .*blobs.*access key/)
  },

  async 'Put PgBouncer in front of the database'(block) {
    const { host } = new URL(external.GROUNDSTATE_DATABASE_URL)
    const pooler = await createTransactionPooler(external.GROUNDSTATE_DATABASE_URL, { size: 4 })
    const addresses = { 'pgbouncer.example:6432': new URL(pooler).host, 'postgres.example:5432': host }
    const text = filled(block, { '…': 'password', ...addresses })

    const settings = await variablesSetBy(text, { cwd: work() })
    const server = await boot({ ...external, ...bucket, ...settings })
    const doctor = await runShell('groundstate doctor', {
      env: { ...external, ...bucket, ...settings, ...portOf(server) },
      cwd: work(),
    })

    expect(Object.keys(settings)).toEqual(['GROUNDSTATE_DATABASE_URL', 'GROUNDSTATE_DATABASE_DIRECT_URL'])
    expect(await lostStates(server, known.external)).toEqual([])
    expect(doctor).toContain('All checks passed.')
  },

  async 'Rotate the secret'({ text }) {
    const path = (name: string) => join(data.GROUNDSTATE_DATA_DIR, name)
    const before = await readFile(path('secret'), 'utf8')
    const unset = runShell(text, { env: { GROUNDSTATE_DATA_DIR: '' }, cwd: work() })
    await expect(unset).rejects.toThrow('GROUNDSTATE_DATA_DIR: parameter null or not set')
    expect(await readdir(work())).not.toContain('secret')

    await runShell(text, { env: data, cwd: work() })

    expect((await readFile(path('previous-secrets'), 'utf8')).trim()).toBe(before.trim())
    expect(await readFile(path('secret'), 'utf8')).not.toBe(before)
    expect(await lostStates(await boot(data), known.data)).toEqual([])
  },

  async 'Rotate the secret (2)'({ text }) {
    const server = await boot(data)

    const output = await runShell(text, { env: data, cwd: work() })
    await server.stop()
    await rm(join(data.GROUNDSTATE_DATA_DIR, 'previous-secrets'))

    expect(output).toContain('Nothing is encrypted with another secret than')
    expect(await lostStates(await boot(data), known.data)).toEqual([])
  },

  async Upgrade({ text }) {
    const server = await boot(data)

    const output = await runShell(text, { env: { ...data, ...portOf(server) }, cwd: work() })

    expect(output).toMatch(/^groundstate \d+\.\d+\.\d+.*\(commit /)
    expect(output).toMatch(/✓ database .*migrations/)
    expect(output).toContain('All checks passed.')
  },

  async 'Send mail'(block) {
    const port = await freePort()
    const mail = await startMailServer(port, { user: 'groundstate', pass: 'password' })
    const text = filled(block, { 'mail.example.com:587': `127.0.0.1:${port}` })

    const server = await boot({ ...data, ...(await variablesSetBy(text, { cwd: work() })) })
    await server.api('POST', '/organizations/main/organization-memberships', {
      data: { type: 'organization-memberships', attributes: { email: 'invited@example.com' } },
    })

    await expect.poll(() => mail.to('invited@example.com'), { timeout: 20_000 }).toHaveLength(1)
    expect(mail.to('invited@example.com')[0]).toMatchObject({
      from: 'groundstate@example.com',
      text: expect.stringContaining(server.url),
    })
  },

  async 'Move states from another server'(block) {
    const [source, target] = [await boot(data), await boot({ ...external, ...bucket })]
    await source.api('POST', '/organizations', {
      data: { type: 'organizations', attributes: { name: 'acme', email: 'acme@example.com' } },
    })
    await storeStates(source, 'app', known.data, 'acme')
    const text = filled(block, { '…': ADMIN_TOKEN, 'https://app.terraform.io': source.url })

    await runShell(text, { env: { GROUNDSTATE_URL: target.url }, cwd: work() })

    await expectStates(target, await statesOf(source, 'acme'), 2)
  },

  async 'Move states from another server (2)'(block) {
    const [source, target] = [await boot(data), await boot({ ...external, ...bucket })]
    await storeStates(source, 'later', known.data, 'acme')
    const text = filled(block, { '…': ADMIN_TOKEN, 'https://app.terraform.io': source.url })

    await runShell(text, { env: { GROUNDSTATE_URL: target.url, GROUNDSTATE_TOKEN: ADMIN_TOKEN }, cwd: work() })

    await expectStates(target, await statesOf(source, 'acme'), 4)
  },

  async 'Move states from an earlier version'(block) {
    const server = await boot(data)

    await runShell(filled(block, { '…': ADMIN_TOKEN, 'http://127.0.0.1:7777': server.url }), { cwd: work() })

    exported = await statesOf(server, 'main')
  },

  async 'Move states from an earlier version (2)'(block) {
    const server = await boot({})

    await runShell(filled(block, { '…': ADMIN_TOKEN, 'http://127.0.0.1:7777': server.url }), { cwd: work() })

    await expectStates(server, exported, 2)
  },
}

const MONITORING: Cases = {
  async Metrics({ text }) {
    const [exported = '', request = ''] = text.split(/\n(?=curl )/)
    const settings = await variablesSetBy(exported, { cwd: work() })
    const server = await boot({ ...data, ...settings, GROUNDSTATE_HOST: '0.0.0.0' })
    const base = { GROUNDSTATE_BASE_URL: `http://127.0.0.1:${new URL(server.url).port}` }

    const output = await runShell(request, { env: { ...settings, ...base }, cwd: work() })

    expect(output).toContain('groundstate_database_up 1')
    await expect(runShell(request, { env: { GROUNDSTATE_METRICS_TOKEN: 'x', ...base }, cwd: work() })).rejects.toThrow(
      '401',
    )
  },

  async Traces(block) {
    await using collector = await startCollector()
    const text = filled(block, { 'http://127.0.0.1:4318': collector.url })
    const server = await boot({ ...data, ...(await variablesSetBy(text, { cwd: work() })) })

    await server.api('GET', '/organizations/main')
    await server.stop()

    expect(collector.requests.map(({ url }) => url)).toContain('/v1/traces')
    const sent = Buffer.concat(collector.requests.map(({ body }) => body)).toString()
    expect(sent).toContain('deployment.environment.name')
  },

  async Alerts({ text }) {
    const { url } = await boot(data)
    await symlink(join(ROOT, 'deploy'), join(work(), 'deploy'))

    await runShell(text, { env: { GROUNDSTATE_BASE_URL: url }, cwd: work() })

    const rules = await readFile(join(work(), 'alerts.yaml'), 'utf8')
    const runbooks = [...rules.matchAll(/runbook_url: (\S+)/g)]
    const shipped = await readFile(join(ROOT, 'deploy/monitoring/alerts.yaml'), 'utf8')
    const commentOf = (text: string) => /^(?:#.*\n)+/.exec(text)?.[0]
    expect(commentOf(rules)).toBe(commentOf(shipped))
    expect(runbooks.length).toBeGreaterThan(10)
    for (const [, runbook = ''] of runbooks) expect(runbook).toContain(`${url}/docs/monitoring#`)
    expect((await fetch(runbooks[0]?.[1] ?? '')).status).toBe(200)
  },

  async 'Support bundle'({ text }) {
    await runShell(text, { env: data, cwd: work() })

    const bundle = (await readdir(work())).find((name) => name.endsWith('.tar.gz'))
    expect(await runShell(`tar -tzf ${bundle}`, { cwd: work() })).toContain('settings')
  },
}

describeBlocks('docs/OPERATIONS.md', OPERATIONS)
describeBlocks('docs/MONITORING.md', MONITORING)
