import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../server/src/testing/random.ts'
import { leftDirectories } from '../findings.ts'
import { countingConfiguration, listAll, remoteWorkspace, type RemoteWorkspace } from '../remote-workspaces.ts'
import { until } from '../run-progress.ts'
import { supervise, type Supervised } from '../supervisor.ts'
import { hasTerraform } from '../terraform.ts'
import * as checks from './checks.ts'
import { resource } from './client.ts'
import { describeFault, inject, planFaults } from './faults.ts'
import { createJournal, type Journal } from './journal.ts'
import { discardUndecided, writeRuns } from './load-runs.ts'
import { createSettingsClient, writeSettings } from './load-settings.ts'
import { createStateWorkspace, watchSerials, writeStates } from './load-states.ts'
import { longestGaps } from './report.ts'
import { bootSite, type Site } from './site.ts'

const env = (name: string) => process.env[`GROUNDSTATE_CHAOS_${name}`]
const FAULTS = Number(env('FAULTS') ?? 7)
/** The short run repeats one plan: a suite must not fail by chance. */
const SEED = Number(env('SEED') ?? (env('FAULTS') === undefined ? 8 : Math.floor(Math.random() * 1e9)))
const REPLICAS = Number(env('REPLICAS') ?? 2)
const BUCKET = env('BUCKET') ?? 'stand-in'
/** The lease of a plan, in ms; that of an apply is four times as long. */
const LEASE_MS = 2500
/** A run of minutes has longer pauses, beyond the leases of applies and of deliveries. */
const IS_LONG = FAULTS > 20
const TIMES = IS_LONG
  ? ({ gapMs: [1000, 7000], durationMs: [2000, 14_000] } as const)
  : ({ gapMs: [500, 2500], durationMs: [1000, 4000] } as const)
const WORKSPACES = { runs: IS_LONG ? 5 : 3, states: 2, settings: 2 }

/** Repeats a step of the preparation that the load balancer interrupted, on a busy machine. */
async function persist<T>(step: (attempt: number) => Promise<T>, attempt = 0): Promise<T> {
  return step(attempt).catch(async (error: unknown) => {
    if (attempt > 10 || !(error instanceof TypeError)) throw error
    await pause(500)
    return persist(step, attempt + 1)
  })
}

/** Workspaces with runs: the first two have run tasks, and the second triggers the last. All of them notify. */
async function prepare(site: Site) {
  const { server, pool, receiver } = site
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const workspaces: RemoteWorkspace[] = []
  const configurations: string[] = []
  for (let index = 0; index < WORKSPACES.runs; index += 1) {
    const workspace = await persist(async (attempt) =>
      remoteWorkspace(server, { name: `runs-${index}-${attempt}`, configuration: countingConfiguration(), attributes }),
    )
    workspaces.push(workspace)
    const notification = { name: 'chaos', 'destination-type': 'generic', enabled: true, url: `${receiver.url}/notify` }
    const triggers = ['run:created', 'run:completed', 'run:errored']
    const body = resource('notification-configurations', { ...notification, triggers })
    const path = `/workspaces/${workspace.id}/notification-configurations`
    configurations.push((await persist(async () => server.api('POST', path, body))).data.id)
  }
  const task = await persist(async (attempt) =>
    server.api(
      'POST',
      '/organizations/main/tasks',
      resource('tasks', { name: `scan-${attempt}`, url: `${receiver.url}/task`, category: 'task' }),
    ),
  )
  for (const { id } of workspaces.slice(0, 2)) {
    const attached = { 'enforcement-level': 'mandatory', stages: ['pre_plan', 'post_plan'] }
    const body = resource('workspace-tasks', attached, { task: ['tasks', task.data.id] })
    await persist(async () => server.api('POST', `/workspaces/${id}/tasks`, body))
  }
  const states = await Promise.all(
    Array.from({ length: WORKSPACES.states }, async (_, index) =>
      persist(async (attempt) => createStateWorkspace(site, `states-${index}-${attempt}`)),
    ),
  )
  const clients = await Promise.all(
    Array.from({ length: WORKSPACES.settings }, async (_, index) =>
      persist(async (attempt) => createSettingsClient(site, `settings-${index}-${attempt}`)),
    ),
  )
  return { workspaces, configurations, states, clients }
}

/** Runs load and faults until the last fault has ended, and then waits for quiet. */
async function run(site: Site, journal: Journal, prepared: Awaited<ReturnType<typeof prepare>>) {
  const { workspaces, states, clients } = prepared
  const links = Object.entries(site.targets).map(([name, target]) => [name, Object.keys(target.links)] as const)
  const plan = planFaults(createRandom(SEED), { count: FAULTS, targets: Object.fromEntries(links), ...TIMES })
  process.stdout.write(`${plan.map(describeFault).join('\n')}\n`)
  const startedAt = Date.now()

  await using stack = new AsyncDisposableStack()
  const supervised: Record<string, Supervised> = {}
  for (const [name, target] of Object.entries(site.targets)) supervised[name] = stack.use(supervise(target.process))
  const stop = new AbortController()
  const watching = new AbortController()
  const reads = watchSerials(site, journal, states, watching.signal)
  const work = Promise.all([
    ...states.map(async (workspace) => writeStates(site, journal, workspace, stop.signal)),
    ...workspaces.map(async (workspace, index) =>
      writeRuns(site, journal, { workspace, random: createRandom(SEED + index), limit: 90 }, stop.signal),
    ),
    ...clients.map(async (client, index) =>
      writeSettings(site, journal, { ...client, random: createRandom(SEED - index), sources: workspaces }, stop.signal),
    ),
  ])
  await inject(plan, site.targets, supervised)
  const faultsEndedAt = Date.now()
  stop.abort()
  await work
  await untilQuiet(site)
  watching.abort()
  const starts = Object.entries(supervised).map(([name, { starts }]) => `${name} ${starts()}`)
  process.stdout.write(`restarts: ${starts.join(', ')}\n`)
  const quietMs = Date.now() - faultsEndedAt
  return { plan, startedAt, reads: await reads, faultMs: faultsEndedAt - startedAt, quietMs }
}

/** Resolves when no run is unfinished, no job waits, and no late request of a client can still arrive. */
async function untilQuiet(site: Site) {
  const { server } = site
  // The longest that a server may hold a request whose client has gone away.
  await pause(3000)
  for (const end = Date.now() + 150_000; Date.now() < end; await pause(300)) {
    const [runs, health] = await Promise.all([
      listAll(server, '/organizations/main/runs?filter%5Bstatus_group%5D=non_final').catch(() => undefined),
      server.api('GET', '/admin/health').catch(() => undefined),
    ])
    const { waiting, active } = health?.data.attributes.queue ?? { waiting: 1, active: 1 }
    if (runs?.length === 0 && waiting + active === 0) return
    await discardUndecided(site, runs ?? [])
  }
}

describe.skipIf(!hasTerraform)('replicas on an external database and a bucket', () => {
  test(
    `survive ${FAULTS} kills, pauses and cuts: nothing acknowledged is lost, and nothing is stuck`,
    { timeout: 120_000 + FAULTS * 30_000, retry: 0 },
    async () => {
      process.stdout.write(`GROUNDSTATE_CHAOS_SEED=${SEED} GROUNDSTATE_CHAOS_FAULTS=${FAULTS}\n`)
      const site = await bootSite({ replicas: REPLICAS, agents: 2, leaseMs: LEASE_MS, bucket: BUCKET })
      process.stdout.write(`${site.description}\n`)
      const journal = createJournal()
      const prepared = await prepare(site)
      const done = await run(site, journal, prepared)
      await until(async () => site.server.api('GET', '/organizations/main').catch(() => undefined))

      const runs = await checks.brokenRuns(site, prepared.workspaces)
      const deliveries = await checks.brokenDeliveries(site, [...journal.runs], prepared.configurations)
      const problems = [
        ...journal.problems,
        ...runs.problems,
        ...deliveries.problems,
        ...(await checks.lostFacts(site, journal)),
        ...(await checks.missingAudits(site, journal)),
        ...(await checks.brokenSerials(site, prepared.states)),
        ...(await checks.failedJobs(site)),
      ]
      for (const { workDir } of site.agents) problems.push(...(await leftDirectories(workDir)))

      const kinds = Object.entries(Object.groupBy(journal.writes, ({ kind }) => kind))
      process.stdout.write(
        [
          `${FAULTS} faults in ${Math.round(done.faultMs / 1000)} s, quiet after ${Math.round(done.quietMs / 1000)} s`,
          `${journal.writes.length} acknowledged writes, ${Object.values(journal.unknown).reduce((sum, count) => sum + count, 0)} unknown, ${journal.facts.size} facts, ` +
            `${journal.audits.length} audit events, ${done.reads} reads of serials`,
          kinds.map(([kind, all]) => `${all?.length} ${kind}`).join(', '),
          `runs: ${JSON.stringify(runs.statuses)}`,
          `${deliveries.count} requests received, ${deliveries.unrecorded} of them again before a recorded 200, ` +
            `${deliveries.callbacks} callbacks`,
          ...Object.entries(journal.unknown).map(([reason, count]) => `unknown ${count} × ${reason}`),
          ...runs.errors,
          ...longestGaps(journal, done),
          '',
        ].join('\n'),
      )
      expect(problems).toEqual([])
    },
  )
})
