import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { median, percentile } from './load.ts'
import { configurationArchive, prepareWorkspace } from './runs.ts'
import { type BenchRow, type Target, api, cpuMs, memoryMb } from './target.ts'

const AGENTS = 8
const WORKSPACES = 20
const THROUGHPUT_RUNS = 600
const LATENCY_RUNS = 60
const CLAIMS = 40
const IDLE_AGENTS = 500
const IDLE_MS = 30_000
const SETTLED_MS = 20_000
/** As long as a real agent's claim waits at the server. */
const CLAIM_MS = 25_000

type Pool = { id: string; token: string }
type Agent = { id: string; token: string }
type Job = { id: string; token: string; runId: string }

/** The queue of agent jobs, by agents that speak the protocol and run no engine. */
export async function queueBenches(target: Target): Promise<BenchRow[]> {
  await api(target, 'PATCH', '/admin/organizations/main', {
    data: { type: 'organizations', attributes: { plan: 'unlimited' } },
  })
  await using postgres = await findPostgres(target.dataDir)
  const database = new pg.Client(postgres.url)
  await database.connect()
  try {
    const statements = await idleServer(target, database)
    // Idle agents are measured first, since thousands of finished runs cause background work.
    const [latency, idle] = [await assignment(target), await idleAgents(target, database)]
    await using replica = await startReplica(target, postgres.url)
    const [one, two] = [await throughput([target], 'one'), await throughput([target, replica.target], 'two')]
    await replica.stop()
    return [
      { name: 'jobs a minute, one server', value: one, unit: '/min', better: 'more', budget: 2000 },
      { name: 'jobs a minute, two servers on this machine', value: two, unit: '/min', better: 'more', budget: 2000 },
      ...latency,
      ...(await deepQueue(target, database)),
      statements,
      ...idle,
    ]
  } finally {
    await database.end()
  }
}

async function startReplica({ start, dataDir }: Target, databaseUrl: string) {
  const target = await start({ GROUNDSTATE_DATABASE_URL: databaseUrl, GROUNDSTATE_AGENTS: '0' }, dataDir)
  let stopped: Promise<void> | undefined
  const stop = async () => (stopped ??= target.stop())
  return { target, stop, [Symbol.asyncDispose]: stop }
}

async function createPool(target: Target, name: string): Promise<Pool> {
  const { data } = await api(target, 'POST', '/organizations/main/agent-pools', {
    data: { type: 'agent-pools', attributes: { name } },
  })
  const token = await api(target, 'POST', `/agent-pools/${data.id}/authentication-tokens`, {
    data: { type: 'authentication-tokens', attributes: { description: 'bench' } },
  })
  return { id: data.id, token: token.data.attributes.token }
}

async function createWorkspaces(target: Target, pool: Pool, { name, count }: { name: string; count: number }) {
  const archive = configurationArchive()
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const workspace = await prepareWorkspace(target, `${name}-${index}`, archive)
      await api(target, 'PATCH', `/workspaces/${workspace.id}`, {
        data: { type: 'workspaces', attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id } },
      })
      return workspace.id
    }),
  )
}

async function startPlan(target: Target, workspaceId: string | undefined) {
  const { data } = await api(target, 'POST', '/runs', {
    data: {
      type: 'runs',
      attributes: { 'plan-only': true },
      relationships: { workspace: { data: { type: 'workspaces', id: workspaceId } } },
    },
  })
  return data.id
}

type Server = Pick<Target, 'baseUrl'>

async function post({ baseUrl }: Server, path: string, { token, body }: { token: string; body?: unknown }) {
  const response = await fetch(`${baseUrl}/api/agent/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status >= 400) throw new Error(`POST ${path} failed with status ${response.status}: ${text}`)
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

async function register(target: Target, { token }: Pool, name: string): Promise<Agent> {
  const body = { name, version: '1.0.0', os: 'linux', arch: 'x64' }
  const { agentId } = (await post(target, '/register', { token, body })) as { agentId: string }
  return { id: agentId, token }
}

async function claim(target: Server, { id, token }: Agent, waitMs: number) {
  return (await post(target, `/agents/${id}/claim`, { token, body: { waitMs } })) as Job | undefined
}

/** Claims a run task request that never arrives. */
async function claimTask(target: Server, { id, token }: Agent) {
  await post(target, `/agents/${id}/claim-task`, { token, body: { waitMs: CLAIM_MS } })
}

async function finish(target: Server, job: Job) {
  const body = { status: 'finished', exitCode: 0, hasChanges: false }
  await post(target, `/jobs/${job.id}/finish`, { token: job.token, body })
}

/** Jobs per minute that agents, distributed over the servers, claim and finish. */
async function throughput(servers: readonly [Target, ...Target[]], name: string) {
  const pool = await createPool(servers[0], `throughput-${name}`)
  const workspaces = await createWorkspaces(servers[0], pool, { name: `throughput-${name}`, count: WORKSPACES })
  const agents = await Promise.all(
    Array.from({ length: AGENTS }, async (_, index) => register(servers[0], pool, `agent-${index}`)),
  )
  for (let done = 0; done < THROUGHPUT_RUNS; done += WORKSPACES)
    await Promise.all(workspaces.map(async (workspace) => startPlan(servers[0], workspace)))
  let finished = 0
  await servers[0].turn?.()
  const started = performance.now()
  await Promise.all(
    agents.map(async (agent, index) => {
      const server = servers[index % servers.length] ?? servers[0]
      while (finished < THROUGHPUT_RUNS) {
        const job = await claim(server, agent, 200)
        if (!job) continue
        await finish(server, job)
        finished += 1
      }
    }),
  )
  return finished / ((performance.now() - started) / 60_000)
}

/** Time from the creation of a run to the delivery of its job to an idle agent. */
async function assignment(target: Target): Promise<BenchRow[]> {
  const pool = await createPool(target, 'assignment')
  const [workspace] = await createWorkspaces(target, pool, { name: 'assignment', count: 1 })
  const agent = await register(target, pool, 'assignment')
  const times: number[] = []
  for (let index = 0; index < LATENCY_RUNS + 10; index += 1) {
    if (index % 10 === 0) await target.turn?.()
    const waiting = claim(target, agent, CLAIM_MS)
    await delay(20)
    const started = performance.now()
    const [job] = await Promise.all([
      waiting.then((claimed) => {
        times.push(performance.now() - started)
        return claimed
      }),
      startPlan(target, workspace),
    ])
    if (job) await finish(target, job)
  }
  const warm = times.slice(10)
  return [
    { name: 'run requested to job at an idle agent, median', value: median(warm), ...MS, budget: 20 },
    { name: 'run requested to job at an idle agent, 95 %', value: percentile(warm, 0.95), ...MS },
  ]
}

const MS = { unit: 'ms', better: 'less' } as const
const RATIO = { unit: '×', better: 'less', budget: 1.5 } as const

/** A claim while ten, ten thousand and a hundred thousand jobs are queued. */
async function deepQueue(target: Target, database: pg.Client): Promise<BenchRow[]> {
  const pool = await createPool(target, 'deep')
  const [workspace] = await createWorkspaces(target, pool, { name: 'deep', count: 1 })
  const agent = await register(target, pool, 'deep')
  const model = await createModel(target)
  const measure = async () => {
    const times: number[] = []
    const before = await queueBlocks(database)
    await target.turn?.()
    for (let index = 0; index < CLAIMS; index += 1) {
      const started = performance.now()
      const job = await claim(target, agent, 1000)
      times.push(performance.now() - started)
      if (job) await finish(target, job)
    }
    return { ms: median(times), blocks: ((await queueBlocks(database)) - before) / CLAIMS }
  }
  const fill = async (from: number, to: number) => {
    await copyRun(database, model, { from, to, poolId: pool.id, workspaceId: workspace ?? '' })
    await database.query('vacuum analyze agent_jobs, runs, phases')
  }
  await fill(1, CLAIMS + 10)
  const ten = await measure()
  await fill(1_000, 11_000)
  const tenThousand = await measure()
  const created = await timed(async () => startPlan(target, workspace))
  await fill(11_000, 101_000)
  const hundredThousand = await measure()
  const createdLate = await timed(async () => startPlan(target, workspace))
  return [
    { name: 'claim with ten jobs queued, median', value: ten.ms, ...MS },
    { name: 'claim with 10,000 jobs queued: against ten', value: tenThousand.ms / ten.ms, ...RATIO },
    { name: 'claim with 100,000 jobs queued: against ten', value: hundredThousand.ms / ten.ms, ...RATIO },
    { name: 'job claimed and ended with ten queued: blocks of jobs read', value: ten.blocks, unit: '', better: 'less' },
    {
      name: 'job claimed and ended with 100,000 queued: against ten',
      value: hundredThousand.blocks / ten.blocks,
      ...RATIO,
    },
    { name: 'run requested with 10,000 jobs queued', value: created, ...MS },
    { name: 'run requested with 100,000 jobs queued', value: createdLate, ...MS },
  ]
}

/** Number of blocks of the table of jobs and its indexes that were read, from memory or disk. */
async function queueBlocks(database: pg.Client) {
  // Sessions report their statistics within a second of being idle.
  await delay(2000)
  const { rows } = await database.query<{ blocks: number }>(
    `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as blocks
       from pg_statio_user_tables where relname = 'agent_jobs'`,
  )
  return rows[0]?.blocks ?? 0
}

async function timed(work: () => Promise<unknown>) {
  const times: number[] = []
  for (let index = 0; index < CLAIMS; index += 1) {
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  return median(times)
}

/** Creates a run whose job stays queued, since its pool has no agent. */
async function createModel(target: Target) {
  const pool = await createPool(target, 'model')
  const [workspace] = await createWorkspaces(target, pool, { name: 'model', count: 1 })
  return startPlan(target, workspace)
}

type Copies = { from: number; to: number; poolId: string; workspaceId: string }

/** Copies a queued run and its job in SQL: creating a hundred thousand through the API would take a quarter of an hour. */
async function copyRun(database: pg.Client, model: string, { from, to, poolId, workspaceId }: Copies) {
  const numbers = 'generate_series($2::int, $3::int - 1) n'
  const values = [model, from, to]
  await database.query(
    `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', 'run-deep' || n,
         'workspace_id', $4::text, 'agent_pool_id', $5::text, 'seq', nextval('run_order'), 'number', n + 1000))).*
       from runs r, ${numbers} where r.id = $1`,
    [...values, workspaceId, poolId],
  )
  await database.query(
    `insert into phases select (jsonb_populate_record(f, jsonb_build_object('id', f.kind || '-deep' || n,
         'run_id', 'run-deep' || n))).*
       from phases f, ${numbers} where f.run_id = $1`,
    values,
  )
  await database.query(
    `insert into agent_jobs overriding system value
     select (jsonb_populate_record(j, jsonb_build_object('id', 'job-deep' || n, 'run_id', 'run-deep' || n,
         'workspace_id', $4::text, 'agent_pool_id', $5::text, 'phase_id', 'plan-deep' || n,
         'seq', nextval(pg_get_serial_sequence('agent_jobs', 'seq')), 'round', n + 1, 'tag', n + 1))).*
       from agent_jobs j, ${numbers} where j.run_id = $1`,
    [...values, workspaceId, poolId],
  )
}

/** Statements of an idle server whose built-in agent waits for jobs. */
async function idleServer(target: Target, database: pg.Client): Promise<BenchRow> {
  // A start causes background work, such as the first schedules.
  await delay(SETTLED_MS)
  const { statements } = await costOf(target, database)
  return { name: 'idle server whose agent waits: statements', value: statements, unit: '/s', better: 'less', budget: 2 }
}

/** Cost of five hundred agents that wait for jobs and run tasks, each in its own pool. */
async function idleAgents(target: Target, database: pg.Client): Promise<BenchRow[]> {
  const agents: Agent[] = []
  for (let index = 0; index < IDLE_AGENTS; index += 1) {
    const pool = await createPool(target, `idle-${index}`)
    agents.push(await register(target, pool, `idle-${index}`))
  }
  await delay(3000)
  const memoryBefore = await memoryMb(target.pid, { alone: true })
  const alone = await costOf(target, database)
  const end = performance.now() + IDLE_MS + CLAIM_MS
  const waiting = agents.map(async (agent, index) => {
    // Spread, like agents that were started at different times.
    await delay((index / IDLE_AGENTS) * CLAIM_MS)
    while (performance.now() < end) await Promise.all([claim(target, agent, CLAIM_MS), claimTask(target, agent)])
  })
  await delay(CLAIM_MS + 2000)
  const busy = await costOf(target, database)
  const memory = (await memoryMb(target.pid, { alone: true })) - memoryBefore
  await Promise.all(waiting)
  return [
    { name: '500 idle agents: processor time', value: busy.cpu - alone.cpu, unit: 'ms/s', better: 'less' },
    { name: '500 idle agents: statements', value: busy.statements - alone.statements, unit: '/s', better: 'less' },
    { name: '500 idle agents: memory of the server', value: memory, unit: 'MB', better: 'less' },
  ]
}

/** Processor time of server and database in ms, and statements, each for one second. A statement alone is a transaction. */
async function costOf(target: Target, database: pg.Client) {
  const count = async () => {
    const { rows } = await database.query<{ n: number }>(
      `select (xact_commit + xact_rollback)::float8 as n from pg_stat_database where datname = current_database()`,
    )
    return rows[0]?.n ?? 0
  }
  const [cpu, statements] = [await cpuMs(target.pid), await count()]
  await delay(IDLE_MS)
  const seconds = IDLE_MS / 1000
  return { cpu: ((await cpuMs(target.pid)) - cpu) / seconds, statements: ((await count()) - statements) / seconds }
}
