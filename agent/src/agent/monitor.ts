import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Activity } from '../activity.ts'
import { BUILD, VERSION } from '../build.ts'
import { listenProblem } from '../process/errors.ts'

export type MonitorAddress = { host: string; port: number }

const PREFIX = 'groundstate_agent_'
/** Internals of Node.js that answer no question of an operator; as in the server. */
const UNUSED = /_(?:active_\w+|heap_space_\w+|version_info|lag_(?:min|stddev)_seconds)$/

/** Serves the health and the metrics of an agent: `/healthz`, `/readyz` and `/metrics`. Rejects if it cannot listen. */
export async function startMonitor(activity: Activity, { host, port }: MonitorAddress) {
  const registry = metricsOf(activity)
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (request.method !== 'GET' && request.method !== 'HEAD') respond(response, 405, 'GET only')
    else if (path === '/healthz') respond(response, 200, 'ok')
    else if (path === '/readyz') {
      const problem = activity.problem()
      respond(response, problem === undefined ? 200 : 503, problem ?? 'ok')
    } else if (path === '/metrics') {
      registry.metrics().then(
        (text) => respond(response, 200, text, registry.contentType),
        () => respond(response, 500, 'the metrics cannot be read'),
      )
    } else respond(response, 404, 'there are /healthz, /readyz and /metrics')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port }, () => resolve(void server.off('error', reject)))
  }).catch((cause: Error) => {
    const setting = 'GROUNDSTATE_AGENT_METRICS_ADDRESS'
    const problem = listenProblem(cause, { host, port }, { host: setting, port: setting })
    throw new Error(problem ?? `${setting}: ${cause.message}`, { cause })
  })
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function respond(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8') {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(`${text.trimEnd()}\n`)
}

/** docs/RUN-AN-AGENT.md lists them. */
function metricsOf(activity: Activity) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: PREFIX })
  for (const { name } of registry.getMetricsAsArray()) if (UNUSED.test(name)) registry.removeSingleMetric(name)
  const options = (name: string, help: string, labelNames: readonly string[] = []) => {
    return { name: `${PREFIX}${name}`, help, labelNames, registers: [] }
  }
  const ready = options('ready', 'whether the agent is registered and gets work')
  const contact = options('last_contact_seconds', 'time since the last response of the server')
  const concurrency = options('concurrency', 'maximum number of concurrent runs')
  const running = options('work_running', 'plans, applies and requests that the agent executes', ['kind'])
  const ended = options('work_total', 'plans, applies and requests that have ended', ['kind', 'outcome'])
  const build = options('build_info', '1; its labels are versions and the commit', ['version', 'commit', 'node'])

  const metrics = [
    new Gauge({ ...ready, collect: setTo(() => (activity.problem() === undefined ? 1 : 0)) }),
    new Gauge({ ...contact, collect: setTo(() => activity.contactAgeMs() / 1000) }),
    new Gauge({ ...concurrency, collect: setTo(() => activity.concurrency) }),
    new Gauge({
      ...running,
      collect() {
        for (const [kind, count] of activity.running()) this.set({ kind }, count)
      },
    }),
    new Counter({
      ...ended,
      collect() {
        this.reset()
        for (const { kind, outcome, count } of activity.ended()) this.inc({ kind, outcome }, count)
      },
    }),
    new Gauge({
      ...build,
      collect() {
        this.set({ version: VERSION, commit: BUILD?.commit ?? '', node: process.versions.node }, 1)
      },
    }),
  ]
  for (const metric of metrics) registry.registerMetric(metric)
  return registry
}

function setTo(read: () => number) {
  return function collect(this: Gauge) {
    this.set(read())
  }
}
