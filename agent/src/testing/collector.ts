import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type CollectedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  service: string
  attributes: Record<string, unknown>
  isError: boolean
}

type Attribute = { key: string; value: Record<string, unknown> }
type Export = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'service' | 'attributes' | 'isError'> & {
        attributes?: Attribute[]
        status?: { code?: number }
      })[]
    }[]
  }[]
}

/** Decides the status of a response; undefined if it responds itself, or never. */
export type Respond = (response: ServerResponse) => number | undefined

/** A collector of traces: OTLP over HTTP, of which it reads the JSON. */
export async function startCollector({ respond = () => 200 }: { respond?: Respond } = {}) {
  const spans: CollectedSpan[] = []
  const requests: { url: string; headers: IncomingHttpHeaders; body: Buffer }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      requests.push({ url: request.url ?? '', headers: request.headers, body })
      const status = respond(response)
      if (status === undefined) return
      if (status === 200 && request.headers['content-type'] === 'application/json')
        spans.push(...spansOf(JSON.parse(body.toString()) as Export))
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function spansOf({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes = [], status, ...span }) => ({
        ...span,
        service,
        attributes: valuesOf(attributes),
        isError: status?.code === 2,
      })),
    )
  })
}

function valuesOf(attributes: readonly Attribute[]) {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
