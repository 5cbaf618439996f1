import { expect, test, vi } from 'vitest'
import { logFields, withLogFields } from '../log-fields.ts'
import { startCollector } from '../testing/collector.ts'
import { startTracing, traced, traceparent } from './tracing.ts'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const ignore = () => {}
const service = { name: 'groundstate-agent', version: '1.0.0', warn: ignore }

test('spans reach the collector with their parents, the resource and the headers', async () => {
  await using collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'runs',
  }

  await within(env, async () => {
    await traced('plan', { parent: PARENT, attributes: { 'groundstate.run.id': 'run-1' } }, async () =>
      traced('terraform init', {}, async () => {}).catch(ignore),
    )
    await traced('apply', { parent: PARENT }, async () => Promise.reject(new TypeError('with a secret'))).catch(ignore)
  })

  const [init, plan, apply] = collector.spans
  expect(collector.requests[0]).toMatchObject({ url: '/v1/traces' })
  expect(plan).toMatchObject({
    name: 'plan',
    service: 'runs',
    traceId: PARENT.split('-')[1],
    parentSpanId: PARENT.split('-')[2],
    attributes: { 'groundstate.run.id': 'run-1' },
    isError: false,
  })
  expect(init).toMatchObject({ name: 'terraform init', traceId: plan?.traceId, parentSpanId: plan?.spanId })
  expect(apply).toMatchObject({ isError: true, attributes: { 'error.type': 'TypeError' } })
  expect(JSON.stringify(collector.spans)).not.toContain('secret')
})

test('the default protocol is Protobuf', async () => {
  await using collector = await startCollector()

  await within({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/traces` }, async () =>
    traced('plan', {}, async () => {}),
  )

  const [request] = collector.requests
  expect(request).toMatchObject({ url: '/traces', headers: { 'content-type': 'application/x-protobuf' } })
  expect(request?.body.includes('groundstate-agent')).toBe(true)
})

test.each([
  ['rejects the spans', () => 400],
  ['fails', () => 500],
  ['never responds', () => undefined],
])('a collector that %s delays neither the work nor the end of the process', async (_, respond) => {
  await using collector = await startCollector({ respond })
  const started = performance.now()
  const warnings: unknown[] = []

  const result = await within(
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    async () => traced('plan', {}, async () => 'planned'),
    (...warning) => void warnings.push(warning),
  )

  expect(result).toBe('planned')
  expect(performance.now() - started).toBeLessThan(10_000)
  expect(warnings).toHaveLength(1)
})

test('a failed export is a warning that names no credentials', async () => {
  await using collector = await startCollector({ respond: () => 400 })
  const warnings: unknown[] = []
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary',
  }

  await within(
    env,
    async () => traced('plan', {}, async () => {}),
    (...warning) => void warnings.push(warning),
  )

  expect(warnings).toHaveLength(1)
  expect(JSON.stringify(warnings)).toContain('traces could not be exported')
  expect(JSON.stringify(warnings)).not.toContain('canary')
})

test('a collector that is down is a warning during the work, which belongs to no request', async () => {
  const collector = await startCollector()
  await collector[Symbol.asyncDispose]()
  const warnings: unknown[] = []
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' }

  await within(
    env,
    async () => {
      // A full batch is sent at once.
      await withLogFields({ request: 'request-1' }, async () =>
        Promise.all(Array.from({ length: 600 }, async () => traced('plan', {}, async () => {}))),
      )
      await expect.poll(() => warnings, { timeout: 5_000 }).toHaveLength(1)
    },
    (...warning) => void warnings.push([...warning, logFields()]),
  )

  const reason = `connect ECONNREFUSED ${new URL(collector.url).host}`
  expect(warnings).toEqual([[{ reason }, 'traces could not be exported', {}]])
})

test('a trace that its client does not sample is continued, but not exported', async () => {
  await using collector = await startCollector()
  const parents: (string | undefined)[] = []

  await within({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, async () =>
    traced('plan', { parent: PARENT.replace(/01$/, '00') }, async () => {
      parents.push(traceparent(), logFields()['trace'])
    }),
  )

  expect(parents).toEqual([expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-.*-00$/), PARENT.split('-')[1]])
  expect(collector.requests).toEqual([])
})

test.each([
  { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
  { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
  {},
])('nothing is traced with %j', async (env) => {
  const inside = await within(env, async () => traced('plan', {}, async () => traceparent()))

  expect(inside).toBeUndefined()
})

test.each([
  [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL: it must be http/protobuf, http/json, not grpc',
  ],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'OTEL_TRACES_SAMPLER: it must be always_on'],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, 'OTEL_TRACES_SAMPLER_ARG: it must be a number from 0 to 1'],
  [{ OTEL_RESOURCE_ATTRIBUTES: 'nonsense' }, 'OTEL_RESOURCE_ATTRIBUTES: "nonsense" is not key=value'],
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER: it must be otlp or none, not zipkin'],
])('%j is rejected', async (env, message) => {
  await expect(startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...env }, service)).rejects.toThrow(
    message,
  )
})

/** Traces `work`, and sends the spans. The exporter reads its variables from the process. */
async function within<T>(env: NodeJS.ProcessEnv, work: () => Promise<T>, warn = service.warn): Promise<T> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    await using _ = await startTracing(env, { ...service, warn })
    return await work()
  } finally {
    vi.unstubAllEnvs()
  }
}
