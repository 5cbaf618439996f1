import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { watch } from '../server/src/features/site/changes/testing/watch.ts'
import { findSystemAccount } from '../server/src/postgres/account.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { bootAgent } from './agent.ts'
import { gatedProvisioner } from './gate.ts'
import { agentPool, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { bootDatabase } from './replicas/database.ts'
import { logOf, readRun, requireUnended, until, untilRunIs } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer, endOf } from './server.ts'
import { hasTerraform } from './terraform.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'
const LEASE_MS = 5000
const canRun = hasTerraform && existsSync(PGBOUNCER)
if (!existsSync(PGBOUNCER))
  console.warn(`SKIPPED: ${PGBOUNCER} is missing (apt-get install pgbouncer), servers behind it cannot be tested`)

let directory: string
let poolerUrl: string
let servers: [BootedServer, BootedServer]

beforeAll(async () => {
  if (!canRun) return
  directory = await mkdtemp(join(tmpdir(), 'gs-pgbouncer-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  const { port } = await bootDatabase(directory)
  const databaseUrl = `postgresql://groundstate@127.0.0.1:${port}/groundstate`
  poolerUrl = await startPooler(databaseUrl)
  const boot = async () =>
    bootServer({
      GROUNDSTATE_DATABASE_URL: poolerUrl,
      GROUNDSTATE_DATABASE_DIRECT_URL: databaseUrl,
      GROUNDSTATE_DATA_DIR: join(directory, 'data'),
      GROUNDSTATE_AGENTS: '0',
      GROUNDSTATE_LEASE: String(LEASE_MS),
    })
  servers = [await boot(), await boot()]
}, 120_000)

/** Starts PgBouncer in transaction mode, with fewer connections than the servers use at once, and returns the URL of the database through it. */
async function startPooler(databaseUrl: string) {
  const { host, port: databasePort, user = '', database = '' } = new pg.Client(databaseUrl)
  const port = await freePort()
  const settings = join(directory, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
${database} = host=${host} port=${databasePort} dbname=${database} user=${user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = admin
pool_mode = transaction
default_pool_size = 6
`,
  )
  // PgBouncer refuses to run as root.
  const account = await findSystemAccount()
  const identity = account.switch ? { uid: account.uid, gid: account.gid } : {}
  const child = spawn(PGBOUNCER, [settings], { ...identity, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  atEnd(async () => {
    child.kill('SIGKILL')
    await endOf(child)
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (data: Buffer) => {
      output += data.toString()
      if (output.includes('process up')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`PgBouncer ended with ${code}: ${output}`)))
  })
  return `postgresql://${user}@127.0.0.1:${port}/${database}`
}

/** Number of transactions that PgBouncer has served. */
async function transactions() {
  const url = new URL(poolerUrl)
  const console = new pg.Client({ host: url.hostname, port: Number(url.port), user: 'admin', database: 'pgbouncer' })
  await console.connect()
  const { rows } = await console.query<{ total_xact_count: string }>('show stats')
  await console.end()
  return rows.reduce((sum, row) => sum + Number(row.total_xact_count), 0)
}

test.skipIf(!canRun)('behind PgBouncer in transaction mode, runs, jobs and live updates outlive a server', async () => {
  const [first, second] = servers
  const pool = await agentPool(first, 'elsewhere')
  bootAgent({ url: second.url, token: pool.token, name: 'a1', workDir: join(directory, 'agent') })
  const file = join(directory, 'open')
  const workspace = await remoteWorkspace(first, {
    name: 'gated',
    configuration: `resource "terraform_data" "gated" {\n${gatedProvisioner(file)}\n}\noutput "one" { value = 1 }`,
    attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
  })
  const stream = await watch(second.url, 'main', { token: ADMIN_TOKEN })

  const run = await startRun(first, workspace)
  await until(async () => {
    await requireUnended(second, await readRun(second, run))
    return (await logOf(second, run, 'apply').catch(() => '')).includes('at the gate')
  })
  // Created at the other server, so that the change came through NOTIFY.
  await until(async () => stream.changes.some(({ id }) => id === run))
  await first.stop('SIGKILL')
  await writeFile(file, '')

  await untilRunIs(second, async () => readRun(second, run), 'applied')
  // The killed server may have taken this job.
  await until(async () => {
    const { data } = await second.api('GET', `/workspaces/${workspace.id}/current-state-version`)
    return data.attributes['resources-processed'] === true
  })
  const { data: failed } = await second.api('GET', '/admin/failed-jobs')
  const { data: health } = await second.api('GET', '/admin/health')

  expect(failed).toEqual([])
  expect(health.attributes.servers).toHaveLength(1)
  expect(await transactions()).toBeGreaterThan(50)
  expect(second.output()).not.toMatch(/"level":(?:50|60)/)
})
