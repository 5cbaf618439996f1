import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

const registry = new Registry()
collectDefaultMetrics({ register: registry, prefix: 'groundstate_' })

/** Request durations by method and status. Paths contain ids, so they are no labels. */
export const requestSeconds = new Histogram({
  name: 'groundstate_http_request_seconds',
  help: 'time from request to answer',
  labelNames: ['method', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  registers: [registry],
})

/** Data that this process deleted after its retention period. */
export const expiredTotal = new Counter({
  name: 'groundstate_expired_total',
  help: 'logs, plans, archives and others that were deleted after the time for which they are kept',
  labelNames: ['what'],
  registers: [registry],
})

/** The metrics of this process in the text format of Prometheus. */
export async function metricsText() {
  return { text: await registry.metrics(), contentType: registry.contentType }
}
