import { type Answer, json } from './answers.ts'
import type { Route, Routes } from './http.ts'
import { openApi } from './openapi.ts'
import { openApiPage } from './openapi-page.ts'
import { createReader } from './openapi-reader.ts'

/**
 * The OpenAPI document and its page, built from `routes` on first use. `baseUrl` is read then: a server on a free port
 * learns its address after this call.
 */
export function describeRoutes(routes: readonly Route[], baseUrl: () => string): Routes {
  let document: Answer | undefined
  const readerScript = createReader()

  return function descriptionRoutes(http) {
    http.get(
      '/openapi.json',
      { access: 'public', summary: 'Describe the API in OpenAPI' },
      async () => (document ??= json(openApi(routes, baseUrl()))),
    )
    http.get('/docs/api', { access: 'public', prefix: '' }, async (req) => openApiPage(req.url))
    http.get('/docs/api/reader.js', { access: 'public', prefix: '' }, async (req) =>
      readerScript(req.header('accept-encoding')),
    )
  }
}
