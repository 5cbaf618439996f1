import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { policySet } from './policy-sets.ts'
import { publishGreeting } from './published-module.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { logOf, readRun, until, untilRunIs } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer, endOf } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'
import { hasTerraform } from './terraform.ts'

/** Backups of a server that is written to, and what they restore. */

const GROUNDSTATE = join(import.meta.dirname, '../server/bin/groundstate')
const WRITERS = 3
const CONFIGURATION = `variable "input" { sensitive = true }
resource "terraform_data" "one" { input = var.input }
output "one" {
  value     = terraform_data.one.output
  sensitive = true
}
`

let server: BootedServer
let directory: string
let backups: string
/** The last complete backup. */
let latest: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'groundstate-backup-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  backups = join(directory, 'backups')
  server = await bootServer()
}, 120_000)

function start(args: readonly string[], dataDir: string) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], GROUNDSTATE_DATA_DIR: dataDir }
  const child = spawn(GROUNDSTATE, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output.text += String(data)))
  return { child, output }
}

async function groundstate(args: readonly string[], dataDir = server.dataDir) {
  const { child, output } = start(args, dataDir)
  await endOf(child)
  return { code: child.exitCode, text: output.text }
}

async function backUp() {
  const { code, text } = await groundstate(['backup', backups])
  expect(text).toContain('Backed up to')
  expect(code).toBe(0)
  return /Backed up to (\S+)/.exec(text)?.[1] ?? ''
}

/** An empty data directory with the secret of the server, as an operator prepares it. */
async function emptyDataDirectory(name: string) {
  const path = join(directory, name)
  await mkdir(path)
  await copyFile(join(server.dataDir, 'secret'), join(path, 'secret'))
  return path
}

const digest = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

/** Small states are stored in rows, large ones in files. */
function state(serial: number) {
  const text = serial % 2 === 0 ? randomBytes(250_000).toString('base64') : String(serial)
  return rawState({ serial, resources: [{ name: 'one', attributes: { input: text } }] })
}

/** Stores states until `signal` aborts; `acknowledged` has the MD5 of each by id. */
async function keepWriting(workspaceId: string, acknowledged: Map<string, string>, signal: AbortSignal) {
  for (let serial = 1; !signal.aborted; serial += 1) {
    const raw = state(serial)
    const id = await storeState(server, workspaceId, raw)
    acknowledged.set(id, digest(raw))
  }
}

/** The MD5 of the bytes that each listed state of a workspace has, by id. */
async function storedStates(restored: BootedServer, name: string) {
  const found = new Map<string, { listed: string; actual: string }>()
  for (let page: number | null = 1; page !== null;) {
    const query = `filter%5Borganization%5D%5Bname%5D=main&filter%5Bworkspace%5D%5Bname%5D=${name}&filter%5Bstatus%5D=finalized`
    const list: any = await restored.api('GET', `/state-versions?${query}&page%5Bsize%5D=100&page%5Bnumber%5D=${page}`)
    for (const { id, attributes } of list.data) {
      const response = await fetch(attributes['hosted-state-download-url'])
      found.set(id, { listed: attributes.md5 ?? '', actual: digest(Buffer.from(await response.arrayBuffer())) })
    }
    page = list.meta.pagination['next-page']
  }
  return found
}

/** An applied run, variables, a module of the registry and a policy set; returns what identifies them. */
async function createContent() {
  const workspace = await remoteWorkspace(server, { name: 'ran', configuration: CONFIGURATION })
  const vars = { key: 'input', value: 'hidden', category: 'terraform', sensitive: true }
  await server.api('POST', `/workspaces/${workspace.id}/vars`, { data: { type: 'vars', attributes: vars } })
  const run = await startRun(server, workspace)
  await untilRunIs(server, async () => readRun(server, run), 'applied')
  const current = async () => server.api('GET', `/workspaces/${workspace.id}/current-state-version`)
  await until(async () => (await current()).data.attributes['resources-processed'])
  await publishGreeting(server, ['1.0.0'])
  const policies = [{ name: 'none', code: 'deny contains "no" if false' }]
  await policySet(server, { name: 'backed-up', policies, workspaces: [] })
  const [policy] = (await server.api('GET', '/organizations/main/policies')).data
  return { workspace, run, policy: policy.id as string }
}

/** All resources and content that belong to it, by path; addresses have the port of a server and signatures. */
async function contentOf(from: BootedServer, { workspace, run, policy }: Awaited<ReturnType<typeof createContent>>) {
  const text = async (path: string) => {
    const address = path.startsWith('/api/') ? `${from.url}${path}` : `${from.url}/api/v2${path}`
    const response = await fetch(address, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    const location = response.headers.get('x-terraform-get')
    const content = location === null ? response : await fetch(new URL(location, from.url))
    if (!content.ok) throw new Error(`${path} answered ${content.status}`)
    return digest(Buffer.from(await content.arrayBuffer()))
  }
  const resources = async (path: string) => {
    const { data } = await from.api('GET', path)
    return JSON.stringify(data).replaceAll(/https?:\/\/[^"]*/g, 'address')
  }
  const { data } = await from.api('GET', `/runs/${run}?include=plan`)
  const plan: string = data.relationships.plan.data.id
  const lists = ['projects', 'teams', 'policies', 'policy-sets', 'registry-modules', 'organization-memberships']
  const found: Record<string, string> = {
    log: digest(Buffer.from(await logOf(from, run, 'plan'))),
    'log of the apply': digest(Buffer.from(await logOf(from, run, 'apply'))),
  }
  for (const list of lists) found[list] = await resources(`/organizations/main/${list}`)
  for (const path of ['', '/vars', '/runs', '/configuration-versions'])
    found[`workspace${path}`] = await resources(`/workspaces/${workspace.id}${path}`)
  for (const path of ['', '/plan', '/apply', '/run-events', '/task-stages'])
    found[`run${path}`] = await resources(`/runs/${run}${path}`)
  for (const path of [
    `/plans/${plan}/json-output`,
    `/plans/${plan}/json-output-redacted`,
    `/configuration-versions/${workspace.configurationId}/download`,
    `/policies/${policy}/download`,
    '/api/registry/v1/modules/main/greeting/null/1.0.0/download',
  ])
    found[path] = await text(path)
  for (const [id, { actual }] of await storedStates(from, workspace.name)) found[id] = actual
  return found
}

test('a backup under writes restores every state that was acknowledged before it began, and all other content', async () => {
  const names = Array.from({ length: WRITERS }, (_, index) => `written-${index}`)
  const ids = await Promise.all(names.map(async (name) => localWorkspace(server, name)))
  const content = hasTerraform ? await createContent() : undefined
  const before = content && (await contentOf(server, content))
  const stop = new AbortController()
  const acknowledged = new Map<string, string>()
  const writers = ids.map(async (id) => keepWriting(id, acknowledged, stop.signal))
  await expect.poll(() => acknowledged.size, { timeout: 30_000 }).toBeGreaterThan(WRITERS * 4)

  const first = await backUp()
  const expected = new Map(acknowledged)
  const second = await backUp()
  stop.abort()
  await Promise.all(writers)
  await server.stop('SIGKILL')
  const dataDir = await emptyDataDirectory('restored')
  const restore = await groundstate(['restore', second], dataDir)
  const restored = await bootServer({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_AGENTS: '0' })
  const found = new Map<string, { listed: string; actual: string }>()
  for (const name of names) for (const [id, sums] of await storedStates(restored, name)) found.set(id, sums)
  const after = content && (await contentOf(restored, content))
  await restored.stop()

  expect(restore).toEqual({ code: 0, text: expect.stringContaining('Stop the original server') })
  expect([...expected].filter(([id, sum]) => found.get(id)?.actual !== sum)).toEqual([])
  expect([...found].filter(([, { listed, actual }]) => listed !== actual)).toEqual([])
  expect(after).toEqual(before)
  const [blob = ''] = await blobsOf(first)
  expect([await inodeOf(first, blob), await groundstate(['restore', '--check', first])]).toEqual([
    await inodeOf(second, blob),
    { code: 0, text: expect.stringContaining('is complete and undamaged') },
  ])
})

/** Paths of the blobs of a backup, relative to it. */
async function blobsOf(backup: string) {
  const lines = (await readFile(join(backup, 'blobs.sha256'), 'utf8')).split('\n')
  return lines.map((line) => line.slice(66)).filter((path) => path.includes('/objects/'))
}

async function inodeOf(backup: string, path: string) {
  return (await stat(join(backup, path))).ino
}

test('a backup of a stopped server works, and a killed one is refused and replaced', async () => {
  const { child } = start(['backup', backups], server.dataDir)
  await expect.poll(async () => partials(), { timeout: 20_000 }).toHaveLength(1)
  child.kill('SIGKILL')
  await endOf(child)
  const [partial = ''] = await partials()
  const dataDir = await emptyDataDirectory('of-killed')

  const refused = await groundstate(['restore', join(backups, partial)], dataDir)
  latest = await backUp()

  expect(refused).toEqual({ code: 1, text: expect.stringContaining('is incomplete: it was interrupted') })
  expect(await partials()).toEqual([])
  expect((await groundstate(['restore', '--check', latest])).code).toBe(0)
})

async function partials() {
  return (await readdir(backups)).filter((name) => name.endsWith('.partial'))
}

test('a restore needs the secret and an empty data directory', async () => {
  const backup = latest
  const empty = join(directory, 'without-secret')
  const used = await emptyDataDirectory('used')
  await mkdir(join(used, 'blobs'))

  const refusals = [await groundstate(['restore', backup], empty), await groundstate(['restore', backup], used)]

  expect(refusals).toEqual([
    { code: 1, text: expect.stringContaining('the database was created with a secret') },
    { code: 1, text: expect.stringContaining(`the data directory ${used} is not empty: it has blobs`) },
  ])
})

test('a damaged or missing file is named, and nothing of the backup is restored', async () => {
  const backup = latest
  const [blob = ''] = await blobsOf(backup)
  const path = join(backup, blob)
  const content = await readFile(path)
  const dataDir = await emptyDataDirectory('of-damaged')

  await rm(path)
  const missing = await groundstate(['restore', '--check', backup])
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  await writeFile(path, content)
  const damaged = await groundstate(['restore', backup], dataDir)

  expect(missing).toEqual({ code: 1, text: `groundstate: ${path} is missing from the backup\n` })
  expect(damaged).toEqual({ code: 1, text: expect.stringContaining(`${path} is damaged`) })
  expect(await readdir(dataDir)).toEqual(['secret'])
})
