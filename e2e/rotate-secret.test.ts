import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { createS3Server } from '../server/src/blobs/testing/s3-server.ts'
import { shownKeyId } from '../server/src/secrets/key-id.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { bootDatabase } from './replicas/database.ts'
import { bootBalancer } from './replicas/site.ts'
import { type BootedServer, bootServer, endOf } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'

/** The secret of a server that is written to is replaced. */

const GROUNDSTATE = join(import.meta.dirname, '../server/bin/groundstate')
const STATES = 24

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'groundstate-rotation-'))
  atEnd(async () => rm(dataDir, { recursive: true, force: true }))
})

const boot = async () => bootServer({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_AGENTS: '0' })

function start(args: readonly string[], settings: Record<string, string> = { GROUNDSTATE_DATA_DIR: dataDir }) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings }
  const child = spawn(GROUNDSTATE, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output.text += String(data)))
  return { child, output }
}

async function groundstate(args: readonly string[], settings?: Record<string, string>) {
  const { child, output } = start(args, settings)
  await endOf(child)
  return { code: child.exitCode, text: output.text }
}

const digest = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

/** Small states are stored in rows, large ones as blobs. */
function state(serial: number) {
  const text = serial % 2 === 0 ? randomBytes(250_000).toString('base64') : String(serial)
  return rawState({ serial, resources: [{ name: 'one', attributes: { input: text } }] })
}

async function store(server: BootedServer, workspaceId: string, serial: number, known: Map<string, string>) {
  const raw = state(serial)
  known.set(await storeState(server, workspaceId, raw), digest(raw))
}

/** Ids of states whose content is not what was stored. */
async function wrongStates(server: BootedServer, known: ReadonlyMap<string, string>) {
  const wrong: string[] = []
  for (const [id, sum] of known) {
    const { data }: any = await server.api('GET', `/state-versions/${id}`)
    const response = await fetch(data.attributes['hosted-state-download-url'])
    if (digest(Buffer.from(await response.arrayBuffer())) !== sum) wrong.push(id)
  }
  return wrong
}

test('the secret is replaced under writes by a command that is killed and repeated', async () => {
  const known = new Map<string, string>()
  const first = await boot()
  const workspaceId = await localWorkspace(first, 'written')
  for (let serial = 1; serial <= STATES; serial += 1) await store(first, workspaceId, serial, known)
  await first.stop()
  await rename(join(dataDir, 'secret'), join(dataDir, 'previous-secrets'))
  await writeFile(join(dataDir, 'secret'), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  const second = await boot()
  const stop = new AbortController()
  const writing = (async () => {
    for (let serial = STATES + 1; !stop.signal.aborted; serial += 1) await store(second, workspaceId, serial, known)
  })()

  const killed = start(['rotate-secret'])
  await expect.poll(() => killed.output.text, { timeout: 30_000, interval: 5 }).toContain('state_contents.sealed')
  killed.child.kill('SIGKILL')
  await endOf(killed.child)
  const done = await groundstate(['rotate-secret'])
  stop.abort()
  await writing
  await second.stop()
  await rename(join(dataDir, 'previous-secrets'), join(dataDir, 'old'))
  const last = await boot()
  const wrong = await wrongStates(last, known)
  await last.stop()
  await rename(join(dataDir, 'old'), join(dataDir, 'secret'))
  const refused = await groundstate(['serve', '--port', '0'])

  expect(done).toEqual({ code: 0, text: expect.stringContaining('Nothing is encrypted with another secret than') })
  expect([known.size > STATES, wrong]).toEqual([true, []])
  expect(refused).toEqual({
    code: 1,
    text: expect.stringMatching(/has been replaced by the one with the id [0-9a-f]{8}/),
  })
})

/** Two servers with one database and one bucket, which the secret `current` is replaced in by restarts, one after the other. */
async function bootReplicas(secret: string) {
  const directory = await mkdtemp(join(tmpdir(), 'gs-rotation-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  const database = await bootDatabase(directory)
  const s3 = await createS3Server()
  atEnd(async () => s3[Symbol.asyncDispose]())
  const ports = [await freePort(), await freePort()]
  const balancer = await bootBalancer(ports.map((port) => `http://127.0.0.1:${port}/readyz`))
  const site = {
    GROUNDSTATE_DATABASE_URL: `postgresql://groundstate@127.0.0.1:${database.port}/groundstate`,
    GROUNDSTATE_S3_ENDPOINT: s3.config.endpoint,
    GROUNDSTATE_S3_BUCKET: s3.config.bucket,
    GROUNDSTATE_S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
  }
  const settings: Record<string, string> = {
    ...site,
    GROUNDSTATE_BASE_URL: `http://127.0.0.1:${balancer}`,
    GROUNDSTATE_AGENTS: '0',
    GROUNDSTATE_SECRET: secret,
  }
  const servers: BootedServer[] = []
  for (const port of ports) servers.push(await bootServer(settings, { port }))
  return {
    site,
    servers,
    /** Ids of the secrets of all blobs. */
    secretsInUse: () =>
      new Set([...s3.objects].filter(([key]) => key.includes('/')).map(([, { body }]) => body.toString('hex', 6, 10))),
    async replace(current: string, previous: string) {
      Object.assign(settings, { GROUNDSTATE_SECRET: current, GROUNDSTATE_PREVIOUS_SECRETS: previous })
      for (const server of servers) {
        await server.stop()
        await server.restart()
      }
    },
  }
}

/** Stores states through whichever server answers, until `signal` aborts. */
async function keepStoring(
  servers: readonly BootedServer[],
  { workspaceId, known, signal }: { workspaceId: string; known: Map<string, string>; signal: AbortSignal },
) {
  for (let serial = 1; !signal.aborted; serial += 1) {
    const raw = state(serial)
    const { lineage } = JSON.parse(raw.toString())
    const attributes = { serial, lineage, md5: digest(raw), state: raw.toString('base64') }
    const body = { data: { type: 'state-versions', attributes } }
    const server = servers[serial % servers.length] ?? servers[0]
    const stored = await server?.api('POST', `/workspaces/${workspaceId}/state-versions`, body).catch(() => undefined)
    if (stored !== undefined) known.set(stored.data.id, attributes.md5)
  }
}

test(
  'replicas on a bucket replace the secret one by one, under writes, and afterwards need only the new one',
  { timeout: 300_000 },
  async () => {
    const [old, next] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
    const { site, servers, secretsInUse, replace } = await bootReplicas(old)
    const [first, second] = servers as [BootedServer, BootedServer]
    const workspaceId = await localWorkspace(first, 'replicated')
    await first.api('POST', `/workspaces/${workspaceId}/actions/lock`, {})
    const known = new Map<string, string>()
    const stop = new AbortController()
    const writing = keepStoring(servers, { workspaceId, known, signal: stop.signal })
    await expect.poll(() => known.size, { timeout: 60_000 }).toBeGreaterThan(STATES)
    const secrets = { ...site, GROUNDSTATE_SECRET: next, GROUNDSTATE_PREVIOUS_SECRETS: old }

    await replace(old, next)
    const tooEarly = await groundstate(['rotate-secret'], secrets)
    await replace(next, old)
    const killed = start(['rotate-secret'], secrets)
    await expect.poll(() => killed.output.text, { timeout: 30_000, interval: 5 }).toContain('state_contents.sealed')
    killed.child.kill('SIGKILL')
    await endOf(killed.child)
    const done = await groundstate(['rotate-secret'], secrets)
    const during = known.size
    await expect.poll(() => known.size, { timeout: 60_000 }).toBeGreaterThan(during)
    stop.abort()
    await writing
    await replace(next, '')
    const wrong = await Promise.all([wrongStates(first, known), wrongStates(second, known)])

    expect(tooEarly).toEqual({
      code: 1,
      text: expect.stringContaining('servers still encrypt with another secret than'),
    })
    expect(done).toEqual({ code: 0, text: expect.stringContaining('Nothing is encrypted with another secret than') })
    expect(wrong).toEqual([[], []])
    expect([...secretsInUse()]).toEqual([shownKeyId(Buffer.from(next, 'hex'))])
  },
)
