import { describe, expect, test } from 'vitest'
import { type CollectedSpan, type Respond, startCollector } from '../agent/src/testing/collector.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { remoteWorkspace } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import { ADMIN_TOKEN, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

const CONFIGURATION = `variable "password" { default = "canary-of-a-variable" }
output "greeting" { value = "hello" }
`

describe.skipIf(!hasTerraform)('traces', () => {
  test('one trace leads from the request through the agent to the commands of the engine', async () => {
    await using collector = await startCollector()
    const server = await bootServer({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    })
    const workspace = await remoteWorkspace(server, { name: 'traced', configuration: CONFIGURATION })
    const traceId = '0af7651916cd43dd8448eb211c80319c'

    const response = await fetch(`${server.url}/api/v2/runs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'content-type': 'application/vnd.api+json',
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
      body: JSON.stringify({
        data: {
          type: 'runs',
          attributes: { 'auto-apply': true },
          relationships: { workspace: { data: { type: 'workspaces', id: workspace.id } } },
        },
      }),
    })
    const { id } = ((await response.json()) as { data: { id: string } }).data
    await untilRunIs(server, async () => readRun(server, id), 'applied')
    const attributes = (await server.api('GET', `/runs/${id}`)).data.attributes
    await server.stop()

    const spans = collector.spans.filter((span) => span.traceId === traceId)
    const parentOf = ({ parentSpanId }: CollectedSpan) => spans.find(({ spanId }) => spanId === parentSpanId)?.name
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [request] = named('POST /api/v2/runs')
    expect(request).toMatchObject({ parentSpanId: 'b7ad6b7169203331', service: 'groundstate' })
    for (const [name, parent] of [
      ['plan', 'POST /api/v2/runs'],
      ['terraform init', 'plan'],
      ['terraform plan', 'plan'],
      ['terraform show', 'plan'],
      ['apply', 'POST /api/v2/runs'],
      ['terraform apply', 'apply'],
    ] as const) {
      const [span] = named(name)
      expect([name, span && parentOf(span)]).toEqual([name, parent])
    }
    expect(named('plan')[0]?.attributes).toMatchObject({ 'groundstate.run.id': id })
    expect(JSON.stringify(collector.spans)).not.toContain('canary-of-a-variable')
    expect(JSON.stringify(attributes)).not.toContain(traceId)
    // The lines of the server and of its agent name the run and the trace.
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.includes(traceId))
    expect(lines.some((line) => line.includes('"message":"job claimed"') && line.includes(`"run":"${id}"`))).toBe(true)
    expect(lines.some((line) => line.includes('"path":"/api/v2/runs"'))).toBe(true)
  }, 120_000)
})

/** Ways of a collector to fail. */
const FAILURES = {
  'is down': 'down',
  'never responds': () => undefined,
  'responds byte by byte': (response) => {
    response.writeHead(200)
    const dripping = setInterval(() => response.write(' '), 100)
    response.once('close', () => clearInterval(dripping))
    return undefined
  },
  'asks for a retry': (response) => void response.writeHead(503, { 'retry-after': '9' }).end(),
} satisfies Record<string, 'down' | Respond>

test.each(Object.entries(FAILURES))(
  'a collector that %s delays neither requests nor the end of the server, which warns once',
  async (_, failure) => {
    const collector = await startCollector(failure === 'down' ? {} : { respond: failure })
    if (failure === 'down') await collector[Symbol.asyncDispose]()
    atEnd(() => failure === 'down' || collector[Symbol.asyncDispose]())
    // Each request is a span.
    const server = await bootServer({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      // Far from the limit below.
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      GROUNDSTATE_AGENTS: '0',
    })

    const statuses = await Promise.all(
      Array.from({ length: 600 }, async () => (await fetch(`${server.url}/api/v2/ping`)).status),
    )
    const stopping = performance.now()
    const code = await server.stop()
    const stopMs = performance.now() - stopping

    expect(new Set(statuses)).toEqual(new Set([204]))
    expect(code).toBe(0)
    // Three seconds for the last spans, and more for the database on a busy machine.
    expect(stopMs).toBeLessThan(12_000)
    expect(server.output().match(/traces could not be exported/g)?.length).toBe(1)
  },
  60_000,
)
