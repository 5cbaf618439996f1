import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../server/src/postgres/postgres.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { bootAgent, type BootedAgent } from './agent.ts'
import { gatedProvisioner } from './gate.ts'
import { agentPool, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { ENDED, logOf, readRun, requireUnended, until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

/** The lease of a plan, in ms; that of an apply is four times as long. */
const LEASE_MS = 3000
/** A pause beyond the lease of a plan, like 45 s with the default lease. */
const PAUSE_MS = 1.5 * LEASE_MS
const LONG_PAUSE_MS = 4.5 * LEASE_MS

let directory: string
let site: BootedServer
/** Two servers whose clocks are 76 s apart. */
let servers: BootedServer[]
let agent: BootedAgent
let pool: { id: string; token: string }

beforeAll(async () => {
  if (!hasTerraform) return
  directory = await mkdtemp(join(tmpdir(), 'gs-pauses-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  // Runs execute as dedicated users.
  await chmod(directory, 0o755)
  // With fsync, since a killed PostgreSQL must not lose commits.
  const postgres = await startPostgres({ dataDir: join(directory, 'database'), log: { info() {}, warn() {} } })
  atEnd(() => postgres[Symbol.asyncDispose]())
  const boot = async (shiftMs: number) =>
    bootServer({
      NODE_OPTIONS: `--import ${new URL('shifted-clock.mjs', import.meta.url).href}`,
      CLOCK_SHIFT_MS: String(shiftMs),
      GROUNDSTATE_DATABASE_URL: postgres.url,
      GROUNDSTATE_DATA_DIR: join(directory, 'data'),
      GROUNDSTATE_AGENTS: '0',
      GROUNDSTATE_LEASE: String(LEASE_MS),
    })
  site = await boot(-45_000)
  servers = [site, await boot(31_000)]
  pool = await agentPool(site, 'elsewhere')
  agent = bootAgent({ url: site.url, token: pool.token, name: 'a1', workDir: join(directory, 'agent') })
}, 120_000)

/** A run whose apply stores one resource and then blocks until it is released. */
async function startApply(name: string) {
  const file = join(directory, `${name}.open`)
  const configuration = `
resource "terraform_data" "quick" { input = "kept" }
resource "terraform_data" "gated" {
  depends_on = [terraform_data.quick]
  ${gatedProvisioner(file)}
}
`
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const workspace = await remoteWorkspace(site, { name, configuration, attributes })
  const run = await startRun(site, workspace)
  await until(async () => {
    await requireUnended(site, await readRun(site, run))
    return (await logOf(site, run, 'apply').catch(() => '')).includes('at the gate')
  })
  return { run, workspace, open: () => writeFile(file, '') }
}

async function end(run: string) {
  return until(async () => {
    const attributes = (await readRun(site, run).catch(() => undefined))?.attributes
    return ENDED.has(attributes?.status) ? attributes : undefined
  })
}

async function eventsOf(run: string) {
  const { data } = await site.api('GET', `/runs/${run}/run-events`)
  return data.map(({ attributes }: any) => attributes) as { action: string; description: string | null }[]
}

/** Suspends processes at an arbitrary instruction. */
function stop(all: readonly { pid: number }[]) {
  for (const { pid } of all) process.kill(pid, 'SIGSTOP')
}

function goOn(all: readonly { pid: number }[]) {
  for (const { pid } of all) process.kill(pid, 'SIGCONT')
}

async function pauseAll(all: readonly { pid: number }[], ms: number) {
  stop(all)
  await pause(ms)
  goOn(all)
}

/** The final status of a run, whether its log has the whole apply, and whether its result was late. */
async function outcomeOf(run: string) {
  const { status, 'error-message': error } = await end(run)
  const events = await eventsOf(run)
  return {
    status,
    error,
    hasLog: /at the gate[^]*through[^]*Apply complete! Resources: 2 added/.test(await logOf(site, run, 'apply')),
    isLate: events.some(({ action }) => action === 'late_result'),
  }
}

const ALL = { status: 'applied', error: null, hasLog: true, isLate: false }

describe.skipIf(!hasTerraform)('an apply, on servers whose clocks are wrong', () => {
  test('takes longer than several leases', async () => {
    const { run, open } = await startApply('long')

    await pause(2 * LEASE_MS)
    await open()

    expect(await outcomeOf(run)).toEqual(ALL)
  })

  test('survives a pause of the servers', async () => {
    const { run, open } = await startApply('servers')

    await pauseAll(servers, PAUSE_MS)
    await open()

    expect(await outcomeOf(run)).toEqual(ALL)
  })

  test('survives a restart of the database', async () => {
    const { run, open } = await startApply('database')
    const [pid] = (await readFile(join(directory, 'database/postgres/cluster/postmaster.pid'), 'utf8')).split('\n')

    process.kill(Number(pid), 'SIGKILL')
    await open()

    expect(await outcomeOf(run)).toEqual(ALL)
  })

  test('survives a pause of servers and agent at once, even beyond its lease', async () => {
    const { run, open } = await startApply('all')

    stop([...servers, agent])
    await pause(LONG_PAUSE_MS)
    goOn(servers)
    // The servers find an expired lease before the agent reconnects.
    await pause(LEASE_MS / 2)
    goOn([agent])
    await open()

    expect(await outcomeOf(run)).toEqual(ALL)
  })

  test('is errored if its agent is suspended beyond the lease; log, state and result arrive later', async () => {
    const { run, workspace } = await startApply('agent')

    await pauseAll([agent], LONG_PAUSE_MS + 2 * LEASE_MS)

    expect(await end(run)).toMatchObject({ status: 'errored' })
    const events = await until(async () => {
      const all = await eventsOf(run)
      return all.at(-1)?.action === 'late_result' ? all : undefined
    })
    expect(events.map(({ action }) => action)).toContain('errored')
    expect(events.at(-1)?.description).toContain('the agent a1 reconnected at')
    expect(await logOf(site, run, 'apply')).toContain(events.at(-1)?.description)
    const { data } = await site.api('GET', `/workspaces/${workspace.id}`)
    expect(data.attributes.locked).toBe(false)
    // The engine stores a snapshot every 20 s: this state had not been stored yet.
    const { data: apply } = await site.api('GET', `/runs/${run}/apply`)
    const state = await site.api('GET', `/applies/${apply.id}/errored-state`)
    expect(state.resources.map(({ name }: any) => name)).toContain('quick')
  })
})
