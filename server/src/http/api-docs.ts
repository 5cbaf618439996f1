import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import fastify from 'fastify'
import { z } from 'zod'
import { html } from './html-page.ts'
import type { Route, Routes } from './http.ts'
import { openApi } from './openapi.ts'
import { type ApiResponse, binary, json } from './responses.ts'
import { PAGE_HEADERS } from './write.ts'

const documentSchema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
})

/**
 * The OpenAPI document of `routes` and a page that shows it, created on first use. `baseUrl` is read then, since a server on a free port does not
 * know its address earlier.
 */
export function documentRoutes(routes: readonly Route[], baseUrl: () => string): Routes {
  let document: ApiResponse | undefined
  let script: ReturnType<typeof loadScript> | undefined

  return function descriptionRoutes(http) {
    http.get(
      '/openapi.json',
      { access: 'public', summary: 'Describe the API in OpenAPI', responses: { 200: documentSchema } },
      async () => (document ??= json(openApi(routes, baseUrl()))),
    )
    http.get(
      '/docs/api',
      {
        summary: 'Read the API documentation',
        access: 'public',
        prefix: '',
        responses: { 200: binary('text/html') },
      },
      async (req) => documentationPage(req.url),
    )
    http.get(
      '/docs/api/reader.js',
      {
        summary: 'Download the script of the API documentation',
        access: 'public',
        prefix: '',
        responses: { 200: binary('text/javascript') },
      },
      async (req) => {
        const { text, compressed } = await (script ??= loadScript())
        const isCompressed = /\bgzip\b/.test(req.header('accept-encoding') ?? '')
        const headers = { vary: 'accept-encoding', 'cache-control': 'public, max-age=86400' }
        return {
          status: 200,
          headers: isCompressed ? { ...headers, 'content-encoding': 'gzip' } : headers,
          content: { type: 'text/javascript; charset=utf-8', data: isCompressed ? compressed : text },
        }
      },
    )
  }
}

/** Loads the script of the page (4 MB). Its package serves it only through a route of a server, which never listens here. */
async function loadScript() {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  await using server = fastify()
  await server.register(apiReference, { routePrefix: '/reader', configuration: { url: '/' } })
  const { statusCode, body } = await server.inject('/reader/js/scalar.js')
  if (statusCode !== 200)
    throw new Error(`loading the script of the API documentation failed with status ${statusCode}`)
  return { text: body, compressed: await promisify(gzip)(body, { level: 9 }) }
}

/** The content security policy of the page: its script may connect only to this server, and contains its own style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Disables everything that contacts other servers, and the "try it" requests, which would carry the session cookie. */
const SETTINGS = JSON.stringify({
  hideTestRequestButton: true,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  defaultOpenFirstTag: false,
  // The accents of the web application.
  customCss: '.light-mode { --scalar-color-accent: #4338ca } .dark-mode { --scalar-color-accent: #8f8bff }',
})

/** The page with the documentation. Links are relative to the request's `url`, so that they work behind a proxy with a path prefix. */
function documentationPage(url: string): ApiResponse {
  const root = /^[^?]*\/(?:\?|$)/.test(url) ? '../..' : '..'
  const document = `${root}/api/v2/openapi.json`
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API · Groundstate</title>
      </head>
      <body>
        <noscript
          >This page requires JavaScript. Machine-readable version: <a href="${document}">openapi.json</a></noscript
        >
        <script type="text/plain" id="api-reference" data-url="${document}" data-configuration="${SETTINGS}"></script>
        <script src="${root}/docs/api/reader.js"></script>
      </body>
    </html>`
  return {
    status: 200,
    headers: { ...PAGE_HEADERS, 'content-security-policy': POLICY },
    content: { type: 'text/html; charset=utf-8', data: page.markup },
  }
}
