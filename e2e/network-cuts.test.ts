import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../server/src/postgres/postgres.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { bootAgent } from './agent.ts'
import { createGate, gatedPlan, gatedProvisioner } from './gate.ts'
import { createNetwork, type Network } from './network.ts'
import { agentPool, type RemoteWorkspace, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { logOf, readRun, requireUnended, until, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer, endOf } from './server.ts'
import { hasTerraform } from './terraform.ts'

/** All durations scale with the lease of a plan, in ms: a partition of 30 s with the default lease is one lease here. */
const LEASE_MS = 8000
/** The lease of an apply is four times as long. */
const SHORT_CUT_MS = 1.2 * LEASE_MS

const AGENTS = ['a1', 'a2', 'a3'] as const
const SERVERS = ['s1', 's2'] as const
type Place = 'db' | 'lb' | (typeof AGENTS)[number] | (typeof SERVERS)[number]

let network: Network<Place>
let directory: string
/** Sends requests to both servers through the load balancer. */
let site: BootedServer
let pool: { id: string; token: string }

beforeAll(async () => {
  if (!hasTerraform) return
  directory = await mkdtemp(join(tmpdir(), 'gs-cuts-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  network = createNetwork<Place>(['db', 'lb', ...SERVERS, ...AGENTS])
  process.stdout.write(`the network is cut between ${network.kind}\n`)

  const socket = await database()
  const databasePort = await balance('db', await freePort(), [socket])
  const ports = { s1: await freePort(), s2: await freePort() }
  const balancerPort = await freePort()
  const checks = await Promise.all(
    SERVERS.map(async (place) => {
      const { host, port } = await network.route('lb', place, ports[place])
      return `http://${host}:${port}/readyz`
    }),
  )
  await balance('lb', balancerPort, checks)

  const boot = async (place: 's1' | 's2') => {
    const { host, port } = await network.route(place, 'db', databasePort)
    const settings = {
      GROUNDSTATE_HOST: network.host(place),
      GROUNDSTATE_BASE_URL: `http://${network.host('lb')}:${balancerPort}`,
      GROUNDSTATE_DATABASE_URL: `postgresql://groundstate@${host}:${port}/groundstate?sslmode=disable`,
      // They share the blob directory as they would share a bucket.
      GROUNDSTATE_DATA_DIR: join(directory, 'data'),
      GROUNDSTATE_AGENTS: '0',
      GROUNDSTATE_LEASE: String(LEASE_MS),
    }
    return bootServer(settings, { command: network.at(place), port: ports[place] })
  }
  site = await boot('s1')
  await boot('s2')
  await until(async () => site.api('GET', '/organizations/main').catch(() => undefined))

  pool = await agentPool(site, 'elsewhere')
  await Promise.all(
    AGENTS.map(async (place) => {
      const { host, port } = await network.route(place, 'lb', balancerPort)
      const workDir = join(directory, place)
      await mkdir(workDir)
      const settings = { GROUNDSTATE_CONCURRENCY: '1' }
      const url = `http://${host}:${port}`
      return bootAgent({ url, token: pool.token, name: place, workDir, settings, command: network.at(place) })
    }),
  )
  await until(async () => (await onlineAgents()).length === AGENTS.length)
}, 120_000)

/** The path of the socket of a PostgreSQL. */
async function database() {
  const postgres = await startPostgres({
    dataDir: join(directory, 'database'),
    log: { info() {}, warn() {} },
    fsync: false,
  })
  atEnd(() => postgres[Symbol.asyncDispose]())
  return join(new URL(postgres.url).searchParams.get('host') ?? '', '.s.PGSQL.5432')
}

/** Starts a load balancer on a host and returns its port. */
async function balance(place: Place, port: number, backends: string[]): Promise<number> {
  const program = join(import.meta.dirname, 'balancer.ts')
  const [command, ...args] = [...network.at(place), process.execPath, program]
  const child: ChildProcess = spawn(command, [...args, network.host(place), String(port), ...backends], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atEnd(async () => {
    child.kill('SIGKILL')
    await endOf(child)
  })
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve(port))
    child.once('exit', (code) => reject(new Error(`the balancer ended with ${code}`)))
  })
}

async function onlineAgents() {
  const { data } = await site.api('GET', `/agent-pools/${pool.id}/agents`)
  return data.filter(({ attributes }: any) => ['idle', 'busy'].includes(attributes.status))
}

type GatedWorkspace = RemoteWorkspace & { openPlan: () => void; atPlan: Promise<void>; openApply: () => Promise<void> }

/** A workspace whose plans and applies block until they are released. */
async function gatedWorkspace(name: string): Promise<GatedWorkspace> {
  const file = join(directory, `${name}.open`)
  const gate = await createGate(network.own)
  const configuration = `${gatedPlan(gate)}
resource "terraform_data" "quick" { input = length(data.terraform_remote_state.gate.outputs) }
resource "terraform_data" "gated" {
  depends_on = [terraform_data.quick]
  ${gatedProvisioner(file)}
}
`
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const made = await remoteWorkspace(site, { name, configuration, attributes })
  return { ...made, openPlan: gate.open, atPlan: gate.reached, openApply: () => writeFile(file, '') }
}

/** Creates a run and resolves once its plan is running. */
async function startPlan(workspace: GatedWorkspace) {
  const run = await startRun(site, workspace)
  await workspace.atPlan
  return run
}

/** Creates a run and resolves once its apply is running. */
async function startApply(workspace: GatedWorkspace) {
  workspace.openPlan()
  const run = await startRun(site, workspace)
  await until(async () => {
    const found = await findRun(run)
    if (found) await requireUnended(site, found)
    return (await logOf(site, run, 'apply').catch(() => '')).includes('at the gate')
  })
  return run
}

/** A workspace whose runs finish without blocking. */
async function openWorkspace(name: string) {
  const workspace = await gatedWorkspace(name)
  workspace.openPlan()
  await workspace.openApply()
  return workspace
}

/** The run; undefined while a server is unavailable. */
async function findRun(id: string) {
  return readRun(site, id).catch(() => undefined)
}

async function untilStatus(id: string, wanted: string) {
  await untilRunIs(site, async () => findRun(id), wanted)
}

async function agentOf(id: string, phase: 'plan' | 'apply'): Promise<(typeof AGENTS)[number]> {
  const { data } = await site.api('GET', `/runs/${id}/${phase}`)
  const name = data.attributes['execution-details']['agent-name']
  return AGENTS.find((place) => place === name) ?? 'a1'
}

async function isUnlocked({ id }: RemoteWorkspace) {
  return !(await site.api('GET', `/workspaces/${id}`)).data.attributes.locked
}

describe.skipIf(!hasTerraform)('a network that is cut', { timeout: 240_000 }, () => {
  test('an agent partitioned for one lease during a plan: another agent plans', async () => {
    const workspace = await gatedWorkspace('agent-in-plan')
    await workspace.openApply()
    const run = await startPlan(workspace)
    const first = await agentOf(run, 'plan')

    network.cut(first, 'lb')
    const second = await until(async () => {
      const agent = await agentOf(run, 'plan')
      return agent !== first && agent
    })
    workspace.openPlan()

    await untilStatus(run, 'applied')
    expect(await agentOf(run, 'plan')).toBe(second)
    expect(await logOf(site, run, 'plan')).toContain('stopped sending heartbeats: the plan starts again on another')
    expect(await isUnlocked(workspace)).toBe(true)
    network.heal(first, 'lb')
  })

  test('an agent partitioned for one lease during an apply: the apply continues and reports its result', async () => {
    const workspace = await gatedWorkspace('agent-in-apply')
    const run = await startApply(workspace)
    const agent = await agentOf(run, 'apply')

    network.cut(agent, 'lb')
    await pause(SHORT_CUT_MS / 2)
    await workspace.openApply()
    await pause(SHORT_CUT_MS / 2)
    network.heal(agent, 'lb')

    await untilStatus(run, 'applied')
    expect(await logOf(site, run, 'apply')).toMatch(/through[^]*Apply complete! Resources: 2 added/)
    expect(await isUnlocked(workspace)).toBe(true)
  })

  test('a server partitioned from its database during a plan and an apply: both continue through the other', async () => {
    expect(await cutServer('s1', 'db')).not.toContain('starts again')
  })

  test('a server partitioned from the agents during a plan and an apply: both continue through the other', async () => {
    expect(await cutServer('s2', 'lb')).not.toContain('starts again')
  })

  test('both servers partitioned from their database for longer than a lease: no applying agent is declared lost', async () => {
    const workspace = await gatedWorkspace('all')
    const run = await startApply(workspace)

    for (const server of SERVERS) network.cut(server, 'db')
    await workspace.openApply()
    await pause(SHORT_CUT_MS)
    for (const server of SERVERS) network.heal(server, 'db')

    await untilStatus(run, 'applied')
    expect(await logOf(site, run, 'apply')).toContain('Apply complete! Resources: 2 added')
  })

  test('an agent partitioned for four leases during an apply: the run is errored, and the late result is added', async () => {
    const workspace = await gatedWorkspace('agent-long-in-apply')
    const run = await startApply(workspace)
    const agent = await agentOf(run, 'apply')

    network.cut(agent, 'lb')
    await untilStatus(run, 'errored')
    expect(await isUnlocked(workspace)).toBe(true)
    network.heal(agent, 'lb')

    const log = await until(async () => {
      const text = await logOf(site, run, 'apply')
      return text.includes('reconnected at') && text
    })
    expect(log).toContain('stopped sending heartbeats during the apply')
    await until(async () => (await onlineAgents()).length === AGENTS.length)
  })
})

/**
 * Partitions a server during a plan and an apply, which finish nevertheless, as do runs created
 * later. Returns the log of the plan.
 */
async function cutServer(server: 's1' | 's2', from: 'db' | 'lb') {
  const [planned, applied] = [await gatedWorkspace(`plan-${from}`), await gatedWorkspace(`apply-${from}`)]
  await planned.openApply()
  const apply = await startApply(applied)
  const plan = await startPlan(planned)

  const [during, after] = [await openWorkspace(`during-${from}`), await openWorkspace(`after-${from}`)]

  network.cut(server, from)
  // The partitioned server has open claims and may find this run before the other one.
  const later = await until(() => startRun(site, during).catch(() => undefined))
  await pause(SHORT_CUT_MS)
  await applied.openApply()
  planned.openPlan()
  for (const run of [apply, plan, later]) await untilStatus(run, 'applied')
  network.heal(server, from)

  await untilStatus(await until(() => startRun(site, after).catch(() => undefined)), 'applied')
  return logOf(site, plan, 'plan')
}
