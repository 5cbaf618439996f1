import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

const registry = new Registry()
collectDefaultMetrics({ register: registry, prefix: 'groundstate_' })

/** Request durations by method and status. Paths contain ids, so they cannot be labels. */
export const requestSeconds = new Histogram({
  name: 'groundstate_http_request_seconds',
  help: 'time from request to response',
  labelNames: ['method', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  registers: [registry],
})

export const expiredTotal = new Counter({
  name: 'groundstate_expired_total',
  help: 'logs, plans, archives and other data deleted after their retention period',
  labelNames: ['what'],
  registers: [registry],
})

/** Metrics of this process in the Prometheus text format. */
export async function metricsText() {
  return { text: await registry.metrics(), contentType: registry.contentType }
}
