import { BUILD, VERSION } from '@groundstate/agent/build'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/*
 * Metrics of this process. docs/MONITORING.md lists every metric with its labels; `features/site/metrics/` adds those that all replicas share.
 * Labels have few values: no ids, and no names that users choose.
 */

const registry = new Registry()
const registers = [registry]
collectDefaultMetrics({ register: registry, prefix: 'groundstate_' })
/** Internals of Node.js that answer no question of an operator. */
const UNUSED = /_(?:active_\w+|heap_space_\w+|version_info|lag_(?:min|stddev)_seconds)$/
for (const { name } of registry.getMetricsAsArray()) if (UNUSED.test(name)) registry.removeSingleMetric(name)

/** Buckets in s, for requests and for work that takes seconds to hours. */
const SHORT = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10]
const MEDIUM = [0.05, 0.25, 1, 5, 15, 60, 300, 900]
const LONG = [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400]

/** By route template, since paths contain ids; `status` is a class such as `2xx`. */
export const requestSeconds = new Histogram({
  name: 'groundstate_http_request_duration_seconds',
  help: 'time from request to response',
  labelNames: ['method', 'route', 'status'],
  buckets: SHORT,
  registers,
})

export const requestsInFlight = new Gauge({
  name: 'groundstate_http_requests_in_flight',
  help: 'requests without a response, without streams of changes',
  registers,
})

export const liveStreams = new Gauge({
  name: 'groundstate_live_streams',
  help: 'open streams of changes',
  registers,
})

export const signInFailures = new Counter({
  name: 'groundstate_sign_in_failures_total',
  help: 'sign-ins and confirmations with a wrong password or code, or of a suspended account',
  labelNames: ['reason'],
  registers,
})

export const databaseErrors = new Counter({
  name: 'groundstate_database_errors_total',
  help: 'failed statements and connections',
  labelNames: ['kind'],
  registers,
})

type PoolUse = { inUse: number; idle: number; waiting: number; max: number }
const pools = new Set<() => PoolUse>()

/** Reports the use of a connection pool until disposed. */
export function measurePool(use: () => PoolUse): Disposable {
  pools.add(use)
  return { [Symbol.dispose]: () => void pools.delete(use) }
}

function poolGauge(name: string, help: string, count: keyof PoolUse) {
  const collect = () => gauge.set([...pools].reduce((total, use) => total + use()[count], 0))
  const gauge: Gauge = new Gauge({ name, help, collect, registers })
}

poolGauge('groundstate_database_connections_in_use', 'pooled connections that execute something', 'inUse')
poolGauge('groundstate_database_connections_idle', 'pooled connections that wait for work', 'idle')
poolGauge(
  'groundstate_database_connections_waiting',
  'statements and transactions that wait for a connection',
  'waiting',
)
poolGauge('groundstate_database_connections_max', 'size of the connection pool', 'max')

export const jobSeconds = new Histogram({
  name: 'groundstate_background_job_duration_seconds',
  help: 'time of an attempt at a background job; failed ones are retried',
  labelNames: ['kind', 'outcome'],
  buckets: MEDIUM,
  registers,
})

export const runsCreated = new Counter({
  name: 'groundstate_runs_created_total',
  help: 'new runs',
  labelNames: ['source'],
  registers,
})

export const runsEnded = new Counter({
  name: 'groundstate_runs_ended_total',
  help: 'runs that reached a final status',
  labelNames: ['status'],
  registers,
})

export const phaseSeconds = new Histogram({
  name: 'groundstate_run_phase_duration_seconds',
  help: 'time that runs spent in a phase',
  labelNames: ['phase', 'outcome'],
  buckets: LONG,
  registers,
})

export const claimsWaiting = new Gauge({
  name: 'groundstate_agent_claims_waiting',
  help: 'long polls of agents that wait for work in this process',
  labelNames: ['queue'],
  registers,
})

export const leasesLost = new Counter({
  name: 'groundstate_agent_leases_lost_total',
  help: 'jobs whose agent stopped sending heartbeats, or did not acknowledge them',
  labelNames: ['kind', 'outcome'],
  registers,
})

/** Results of an attempt: acknowledged, to be retried, or given up. */
export type AttemptResult = 'delivered' | 'retried' | 'failed'

export const attemptSeconds = new Histogram({
  name: 'groundstate_delivery_duration_seconds',
  help: 'time of an attempt to send a request to a receiver',
  labelNames: ['queue', 'result'],
  buckets: SHORT,
  registers,
})

export const webhookDeliveries = new Counter({
  name: 'groundstate_webhook_deliveries_total',
  help: 'webhooks of hosts of repositories that were received',
  labelNames: ['host', 'result'],
  registers,
})

export const blobSeconds = new Histogram({
  name: 'groundstate_blob_operation_duration_seconds',
  help: 'time to write a blob, or to the first byte of one that is read',
  labelNames: ['operation'],
  buckets: SHORT,
  registers,
})

export const blobBytes = new Counter({
  name: 'groundstate_blob_bytes_total',
  help: 'stored bytes, compressed and encrypted',
  labelNames: ['operation'],
  registers,
})

export const blobErrors = new Counter({
  name: 'groundstate_blob_errors_total',
  help: 'failed operations of the blob store',
  labelNames: ['operation'],
  registers,
})

export const expiredTotal = new Counter({
  name: 'groundstate_expired_total',
  help: 'logs, plans, archives and other data deleted after their retention period',
  labelNames: ['what'],
  registers,
})

export const diskBytes = new Gauge({
  name: 'groundstate_disk_bytes',
  help: 'size of the file system of the data directory',
  labelNames: ['state'],
  registers,
})

new Gauge({
  name: 'groundstate_build_info',
  help: '1; its labels are the version and commit of the server, and the version of Node.js',
  labelNames: ['version', 'commit', 'node'],
  registers,
}).set({ version: VERSION, commit: BUILD?.commit ?? '', node: process.versions.node }, 1)

/** Metrics of this process in the Prometheus text format. */
export async function metricsText() {
  return { text: await registry.metrics(), contentType: registry.contentType }
}
