import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { createRandom } from '../server/src/testing/random.ts'
import { bootAgent, type BootedAgent } from './agent.ts'
import {
  brokenLogs,
  brokenTriggers,
  hasWaitingFirings,
  historyOf,
  leftDirectories,
  leftProcesses,
  lostStates,
  stuckRuns,
} from './findings.ts'
import {
  agentPool,
  countingConfiguration,
  listAll,
  type RemoteWorkspace,
  remoteWorkspace,
  startRun,
} from './remote-workspaces.ts'
import { type BootedServer, bootServer } from './server.ts'
import { supervise } from './supervisor.ts'
import { hasTerraform } from './terraform.ts'

const SEED = Number(process.env['GROUNDSTATE_CHAOS_SEED'] ?? Math.floor(Math.random() * 1e9))
const RUNS = Number(process.env['GROUNDSTATE_CHAOS_RUNS'] ?? 32)
const WORKSPACES = 16
const AGENTS = 3
/** Concurrent runs of a workspace: one is active, and the others wait for it. */
const QUEUE = 2
/** Pause between two kills, as a multiple of the duration of the first start, so that it scales on a busy machine. */
const KILLS = { from: 0.1, to: 1 }
/** Number of kills, after which the runs finish undisturbed. */
const MAX_KILLS = 24
/** Time limit for all runs to finish after the last kill, in ms. */
const REST_MS = 90_000
/** A run that takes longer, in ms, despite the kills, counts as stuck. */
const MAX_RUN_MS = 180_000
/** Interval of progress reports, in ms. */
const WORD_MS = 60_000

let server: BootedServer
let startMs: number
let directory: string
let agents: BootedAgent[]
let pool: { id: string; token: string }
beforeAll(async () => {
  if (!hasTerraform) return
  directory = await mkdtemp(join(tmpdir(), 'gs-chaos-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  await mkdir(join(directory, 'witness'))
  // Writable by any user, since engines run as different ones.
  await chmod(directory, 0o755)
  await chmod(join(directory, 'witness'), 0o777)
  const started = performance.now()
  server = await bootServer({
    GROUNDSTATE_LEASE: '3000',
    GROUNDSTATE_TRIGGER_DELAY: '500',
    GROUNDSTATE_CONCURRENCY: '3',
  })
  startMs = performance.now() - started
  pool = await agentPool(server, 'chaos')
  agents = await Promise.all(
    Array.from({ length: AGENTS }, async (_, index) => {
      const workDir = join(directory, `agent-${index}`)
      const tmp = join(directory, `tmp-${index}`)
      await mkdir(tmp, { mode: 0o755 })
      const settings = { GROUNDSTATE_CONCURRENCY: '2', TMPDIR: tmp }
      return bootAgent({ url: server.url, token: pool.token, name: `agent-${index}`, workDir, settings })
    }),
  )
})

/** Each instance also creates a file outside of the state. */
const counting = (name: string) =>
  countingConfiguration(`provisioner "local-exec" {
    command = "touch ${join(directory, 'witness')}/${name}.\${each.key}.$TFC_RUN_ID; sleep 0.3"
  }`)

const TRIGGERED = `
resource "terraform_data" "x" { input = uuid() }
output "x" { value = terraform_data.x.output }
`

/** Run triggers: a fan-out, a workspace with several sources, a chain, and two workspaces with the same source. */
const TRIGGERS: Record<string, string[]> = {
  network: ['direct-0', 'direct-1', 'direct-2', 'direct-3'],
  dns: ['direct-3', 'direct-4', 'direct-5'],
  cluster: ['network', 'dns'],
  application: ['cluster', 'direct-6'],
}

/** Whether a request failed since the server was killed under it, or while it started. */
function isAway(error: unknown) {
  const hung = error instanceof Error && error.name === 'TimeoutError'
  if (hung) process.stdout.write(`a request was not answered: ${error.stack ?? ''}\n`)
  return hung || error instanceof TypeError || /answered 5\d\d/.test(String(error))
}

/** Retries a request until the server is available. */
async function persist<T>(send: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + REST_MS; ;) {
    try {
      return await send()
    } catch (error) {
      if (!isAway(error) || Date.now() > end) throw error
      await pause(100)
    }
  }
}

/** The unfinished runs of the organization, polled by one loop for all waiters. */
function watchRuns() {
  let unfinished = new Set<string>()
  let looks = 0
  let spokeAt = Date.now()
  const stop = new AbortController()
  async function watch() {
    while (!stop.signal.aborted) {
      const found = await persist(() => listAll(server, '/organizations/main/runs?filter%5Bstatus_group%5D=non_final'))
      unfinished = new Set(found.map(({ id }) => id))
      looks += 1
      if (Date.now() - spokeAt > WORD_MS) {
        spokeAt = Date.now()
        const states = found.map(({ id, attributes }) => `${id} ${attributes.status}: ${attributes['waiting-reason']}`)
        process.stdout.write(`${found.length} runs have not ended:\n${states.slice(0, 10).join('\n')}\n`)
      }
      await pause(250)
    }
  }
  const watching = watch()
  async function until(isDone: () => boolean) {
    // The current poll may have begun before the run.
    const first = looks + 2
    const isFresh = () => looks >= first
    while (!isFresh() || !isDone()) await pause(50)
  }
  return {
    /** Resolves when only these runs are unfinished, or the others are stuck. */
    async untilOnly(waiting: readonly string[]) {
      const end = Date.now() + REST_MS
      await until(() => [...unfinished].every((id) => waiting.includes(id)) || Date.now() > end)
    },
    /** Resolves when one of the runs has ended, or is stuck. */
    async untilEnded(id: string) {
      const end = Date.now() + MAX_RUN_MS
      await until(() => !unfinished.has(id) || Date.now() > end)
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await watching
    },
  }
}

/** Resolves when no run is unfinished and no trigger is about to start one. */
async function untilQuiet(
  { untilOnly }: ReturnType<typeof watchRuns>,
  { workspaces, waiting }: { workspaces: readonly RemoteWorkspace[]; waiting: readonly string[] },
) {
  const countRuns = async () => (await listAll(server, '/organizations/main/runs')).length
  for (const end = Date.now() + REST_MS; Date.now() < end;) {
    const count = await countRuns()
    await untilOnly(waiting)
    const firings = await Promise.all(workspaces.map(async (workspace) => hasWaitingFirings(server, workspace)))
    // A run created since the count may be unfinished, or have triggered a workspace that had been read before.
    if (!firings.includes(true) && (await countRuns()) === count) return
  }
}

/** Two blocked runs: one waits for a lock, the other for an agent. */
async function waitingRuns() {
  const nobody = await agentPool(server, 'nobody')
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': nobody.id }
  const locked = await remoteWorkspace(server, { name: 'locked', configuration: TRIGGERED })
  const lonely = await remoteWorkspace(server, { name: 'lonely', configuration: TRIGGERED, attributes })
  await server.api('POST', `/workspaces/${locked.id}/actions/lock`, { reason: 'maintenance' })
  return { locked: await startRun(server, locked), lonely: await startRun(server, lonely) }
}

/** Creates a run exactly once, even if the response is lost. */
async function startRunOnce(workspace: RemoteWorkspace, number: number) {
  const message = `run ${number}`
  const attributes = { message, variables: [{ key: 'n', value: `${number}` }] }
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst) {
      const runs = await persist(() => listAll(server, `/workspaces/${workspace.id}/runs`))
      const found = runs.find((run) => run.attributes.message === message)
      if (found) return found.id as string
    }
    try {
      return await startRun(server, workspace, attributes)
    } catch (error) {
      if (!isAway(error)) throw error
      await pause(100)
    }
  }
}

async function killPostgres() {
  const [pid] = (await readFile(join(server.dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').catch(() => '')).split(
    '\n',
  )
  try {
    if (Number(pid) > 1) process.kill(Number(pid), 'SIGKILL')
  } catch {
    // It has just exited with its server.
  }
}

/** Instances that were created again after the apply that created them had finished. */
async function forgottenInstances(applied: ReadonlySet<string>) {
  const makers = new Map<string, string[]>()
  for (const name of await readdir(join(directory, 'witness'))) {
    const [workspace, key, run = ''] = name.split('.')
    const instance = `${workspace}.${key}`
    makers.set(instance, [...(makers.get(instance) ?? []), run])
  }
  return [...makers]
    .filter(([, runs]) => runs.length > 1 && runs.filter((run) => applied.has(run)).length > 1)
    .map(([instance, runs]) => `${instance} was made by ${runs.join(' and ')}`)
}

async function reasonOf(run: string) {
  return (await server.api('GET', `/runs/${run}`)).data.attributes['waiting-reason']
}

describe.skipIf(!hasTerraform)('with server, database and agents killed at random points', () => {
  test(
    `${RUNS} runs end, and nothing is stuck, lost or left`,
    // Two hundred runs take six minutes on two idle cores. A retry would find the workspaces of the first attempt.
    { timeout: Math.max(10 * 60_000, RUNS * 6_000), retry: 0 },
    async () => {
      process.stdout.write(`GROUNDSTATE_CHAOS_SEED=${SEED}\n`)
      const random = createRandom(SEED)
      const workspaces = await Promise.all(
        Array.from({ length: WORKSPACES }, async (_, index) => {
          const name = `direct-${index}`
          const attributes = index % 2 === 0 ? { 'execution-mode': 'agent', 'agent-pool-id': pool.id } : {}
          return remoteWorkspace(server, { name, configuration: counting(name), attributes })
        }),
      )

      const triggered = await Promise.all(
        Object.keys(TRIGGERS).map(async (name, index) => {
          const attributes = {
            'auto-apply-run-trigger': true,
            ...(index % 2 === 0 && { 'execution-mode': 'agent', 'agent-pool-id': pool.id }),
          }
          return remoteWorkspace(server, { name, configuration: TRIGGERED, attributes })
        }),
      )
      const all = [...workspaces, ...triggered]
      const idOf = (name: string) => all.find((workspace) => workspace.name === name)?.id ?? ''
      const sources = new Map(Object.entries(TRIGGERS).map(([name, names]) => [idOf(name), names.map(idOf)]))
      for (const [id, from] of sources)
        for (const source of from)
          await server.api('POST', `/workspaces/${id}/run-triggers`, {
            data: { type: 'run-triggers', relationships: { sourceable: { data: { type: 'workspaces', id: source } } } },
          })

      const waiting = await waitingRuns()
      const started = performance.now()
      await using watch = watchRuns()
      const done = new AbortController()
      const work = Promise.all(
        workspaces.map(async (workspace, index) => {
          const queue: string[] = []
          const count = Math.floor(RUNS / WORKSPACES) + (index < RUNS % WORKSPACES ? 1 : 0)
          for (let number = 1; number <= count; number += 1) {
            queue.push(await startRunOnce(workspace, number))
            if (queue.length >= QUEUE) await watch.untilEnded(queue.shift() ?? '')
          }
          for (const id of queue) await watch.untilEnded(id)
        }),
      ).finally(() => done.abort())

      const kills: string[] = []
      {
        await using stack = new AsyncDisposableStack()
        const supervisedServer = stack.use(supervise(server))
        const supervisedAgents = agents.map((agent) => stack.use(supervise(agent)))
        while (!done.signal.aborted && kills.length < MAX_KILLS) {
          // On a slow machine, a server that is killed during every start would never serve.
          await persist(() => server.api('GET', '/organizations/main'))
          await Promise.race([pause(startMs * random.between(KILLS.from, KILLS.to)), work])
          const victim = random.pick(['server', 'server twice', 'database', 'both', 'agent', 'agent'] as const)
          kills.push(victim)
          if (victim === 'database' || victim === 'both') await killPostgres()
          if (victim === 'agent') supervisedAgents[Math.floor(random.between(0, AGENTS))]?.kill()
          else if (victim !== 'database') supervisedServer.kill()
          if (victim === 'server twice') {
            await pause(startMs * random.between(0.2, 1))
            supervisedServer.kill()
          }
        }
        await work
        await persist(() => untilQuiet(watch, { workspaces: all, waiting: Object.values(waiting) }))
      }
      const worked = performance.now() - started

      const histories = await Promise.all(all.map(async (workspace) => historyOf(server, workspace)))
      const runs = histories.flatMap((history) => history.runs)
      const applied = new Set(runs.filter(({ attributes }) => attributes.status === 'applied').map(({ id }) => id))
      const problems = [...histories.flatMap(stuckRuns), ...(await forgottenInstances(applied))]
      for (const history of histories)
        problems.push(...(await lostStates(history)), ...(await brokenLogs(server, history)))
      problems.push(...(await brokenTriggers(server, histories, sources)))
      for (const agent of agents) problems.push(...(await leftDirectories(agent.workDir)))
      problems.push(...(await leftDirectories(join(server.dataDir, 'agent'))))
      problems.push(...(await leftProcesses(directory, new Set(agents.map(({ pid }) => pid)))))

      const ends = Object.entries(Object.groupBy(runs, ({ attributes }) => attributes.status))
      process.stdout.write(
        `${kills.length} kills in ${Math.round(worked / 1000)} s (${kills.join(', ')}); ` +
          `${runs.length} runs: ${ends.map(([status, found]) => `${found?.length} ${status}`).join(', ')}\n`,
      )
      expect(problems).toEqual([])
      expect(await reasonOf(waiting.locked)).toMatch(/^the workspace is locked by user admin since .*: maintenance$/)
      expect(await reasonOf(waiting.lonely)).toBe('no agent of the pool nobody is online')
      const direct = histories.filter(({ workspace }) => workspaces.includes(workspace))
      expect(direct.flatMap((history) => history.runs)).toHaveLength(RUNS)
    },
  )
})
