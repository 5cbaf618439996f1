import { AGENT_STATUSES } from '@groundstate/contract/agents'
import { UNFINISHED_STATUSES } from '@groundstate/contract/run-status'
import { Gauge, Registry } from 'prom-client'
import type { Ctx } from '../../../app.ts'
import { withTimeout } from '../../../db/db.ts'
import { countJobs } from '../../../jobs/queue-state.ts'
import { listServers } from '../../../signals.ts'
import * as store from './store.ts'

/*
 * Values that all replicas share, from the database. Each replica reports the same ones, so queries take their maximum and do not add them up.
 */

/** Age up to which values are reported again, in ms: several scrapers cost no more than one. */
const MAX_AGE_MS = 5000
/** Time that a scrape waits for the database, in ms; Prometheus itself waits for ten seconds. */
const TIMEOUT_MS = 2000

type Snapshot = Awaited<ReturnType<typeof readSnapshot>>
type Cache = { readAt: number; snapshot: Snapshot | undefined; reading: Promise<Snapshot> | undefined }

const caches = new WeakMap<Ctx['signals'], Cache>()

/** The metrics of the cluster in the Prometheus text format. Without a responding database they say so, and nothing else. */
export async function clusterMetricsText(ctx: Ctx): Promise<string> {
  const registry = new Registry()
  const snapshot = await recentSnapshot(ctx)
  const gauge = gaugesOf(registry)
  gauge('database_up', 'whether the database responds to this process', [])([[{}, snapshot ? 1 : 0]])
  if (snapshot) report(snapshot, gauge, ctx.now())
  return registry.metrics()
}

async function recentSnapshot(ctx: Ctx): Promise<Snapshot | undefined> {
  const cache = caches.get(ctx.signals) ?? { readAt: -Infinity, snapshot: undefined, reading: undefined }
  caches.set(ctx.signals, cache)
  if (cache.snapshot && performance.now() - cache.readAt < MAX_AGE_MS) return cache.snapshot
  // A query that hangs is not repeated until it ends.
  cache.reading ??= readSnapshot(ctx).finally(() => (cache.reading = undefined))
  cache.snapshot = await withTimeout(cache.reading, TIMEOUT_MS).catch((error: unknown) => {
    ctx.log.warn({ err: error }, 'the metrics of the cluster cannot be read')
    return undefined
  })
  cache.readAt = performance.now()
  return cache.snapshot
}

/** One statement after the other, so that a scrape uses one connection. */
async function readSnapshot({ db, now }: Ctx) {
  return {
    runs: await store.countRuns(db),
    pools: await store.countPools(db, now()),
    deliveries: await store.readDeliveryQueues(db),
    jobs: await countJobs(db),
    servers: await listServers(db),
    databaseBytes: await store.readDatabaseSize(db),
  }
}

type Values = readonly (readonly [labels: Record<string, string>, value: number])[]
type GaugeOf = (name: string, help: string, labelNames: readonly string[]) => (values: Values) => void

function gaugesOf(registry: Registry): GaugeOf {
  return (name, help, labelNames) => {
    const gauge = new Gauge({ name: `groundstate_${name}`, help, labelNames, registers: [registry] })
    return (values) => {
      for (const [labels, value] of values) gauge.set(labels, value)
    }
  }
}

function report({ runs, pools, deliveries, jobs, servers, databaseBytes }: Snapshot, gauge: GaugeOf, now: Date) {
  const age = (since: Date | null) => (since === null ? 0 : Math.max(0, now.getTime() - since.getTime()) / 1000)
  const counts = new Map(runs.map(({ status, runs }) => [status, runs]))
  gauge('runs', 'unfinished runs', ['status'])(
    UNFINISHED_STATUSES.map((status) => [{ status }, counts.get(status) ?? 0]),
  )

  const poolLabels = ['pool', 'organization']
  const ofPool = ({ name, organization }: store.PoolCount) => ({ pool: name, organization })
  gauge(
    'queue_jobs',
    'plans and applies that wait for an agent',
    poolLabels,
  )(pools.map((pool) => [ofPool(pool), pool.queued]))
  gauge(
    'queue_oldest_seconds',
    'age of the oldest waiting plan or apply, 0 without one',
    poolLabels,
  )(pools.map((pool) => [ofPool(pool), age(pool.oldest_queued_at)]))
  gauge(
    'queue_running_jobs',
    'plans and applies that agents execute',
    poolLabels,
  )(pools.map((pool) => [ofPool(pool), pool.running]))
  gauge('agents', 'registered agents', [...poolLabels, 'status'])(
    pools.flatMap((pool) =>
      AGENT_STATUSES.filter((status) => status !== 'exited').map(
        (status) => [{ ...ofPool(pool), status }, pool.agents[status] ?? 0] as const,
      ),
    ),
  )

  gauge('deliveries_waiting', 'requests to receivers that are due or will be', ['queue'])(
    deliveries.flatMap(({ queue, waiting }) => (waiting === null ? [] : [[{ queue }, waiting] as const])),
  )
  gauge('delivery_oldest_seconds', 'time since the first waiting request is due, 0 if none is', ['queue'])(
    deliveries.map(({ queue, due_at }) => [{ queue }, age(due_at)]),
  )

  gauge('background_jobs', 'background jobs', ['kind', 'state'])(
    jobs.flatMap(({ name: kind, waiting, scheduled, active, failed }) =>
      Object.entries({ waiting, scheduled, active, failed }).map(([state, count]) => [{ kind, state }, count] as const),
    ),
  )
  gauge('background_job_oldest_seconds', 'time since the oldest waiting background job is due, 0 if none is', ['kind'])(
    jobs.map(({ name: kind, oldest_waiting_at }) => [{ kind }, age(oldest_waiting_at)]),
  )
  gauge('servers', 'servers that are connected to the database', [])([[{}, servers.length]])
  gauge('database_size_bytes', 'size of the database', [])([[{}, databaseBytes]])
}
