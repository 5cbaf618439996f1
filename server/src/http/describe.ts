import { z } from 'zod'
import type { Route, Routes } from './http.ts'
import { openApiPage } from './openapi-page.ts'
import { createReader } from './openapi-reader.ts'
import { openApi } from './openapi.ts'
import { type ApiResponse, binary, json } from './responses.ts'

const documentSchema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
})

const PAGE = {
  summary: 'Read the API documentation',
  access: 'public',
  prefix: '',
  responses: { 200: binary('text/html') },
} as const
const SCRIPT = {
  summary: 'Download the script of the API documentation',
  access: 'public',
  prefix: '',
  responses: { 200: binary('text/javascript') },
} as const

/**
 * The OpenAPI document and its page, built from `routes` on first use. `baseUrl` is read then: a server on a free port
 * learns its address after this call.
 */
export function describeRoutes(routes: readonly Route[], baseUrl: () => string): Routes {
  let document: ApiResponse | undefined
  const readerScript = createReader()

  return function descriptionRoutes(http) {
    http.get(
      '/openapi.json',
      { access: 'public', summary: 'Describe the API in OpenAPI', responses: { 200: documentSchema } },
      async () => (document ??= json(openApi(routes, baseUrl()))),
    )
    http.get('/docs/api', PAGE, async (req) => openApiPage(req.url))
    http.get('/docs/api/reader.js', SCRIPT, async (req) => readerScript(req.header('accept-encoding')))
  }
}
