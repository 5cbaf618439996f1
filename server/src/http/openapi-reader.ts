import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import fastify from 'fastify'
import type { ApiResponse } from './responses.ts'

/** The script of the page, read and compressed on first use: it has 4 MB. */
export function createReader(): (acceptEncoding: string | undefined) => Promise<ApiResponse> {
  let loading: Promise<{ script: string; compressed: Buffer }> | undefined

  return async function readerScript(acceptEncoding = '') {
    const { script, compressed } = await (loading ??= load())
    const takesGzip = /\bgzip\b/.test(acceptEncoding)
    const headers = { vary: 'accept-encoding', 'cache-control': 'public, max-age=86400' }
    return {
      status: 200,
      headers: takesGzip ? { ...headers, 'content-encoding': 'gzip' } : headers,
      content: { type: 'text/javascript; charset=utf-8', data: takesGzip ? compressed : script },
    }
  }
}

async function load() {
  const script = await packagedScript()
  return { script, compressed: await promisify(gzip)(script, { level: 9 }) }
}

/** The package serves its script only through a route, so this server exists to ask it. It never listens. */
async function packagedScript() {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  await using server = fastify()
  await server.register(apiReference, { routePrefix: '/reader', configuration: { url: '/' } })
  const response = await server.inject('/reader/js/scalar.js')
  if (response.statusCode !== 200)
    throw new Error(`the reader's script was answered with status ${response.statusCode}`)
  return response.body
}
