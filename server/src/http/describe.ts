import { type Answer, json } from './answers.ts'
import type { Route, Routes } from './http.ts'
import { type OpenApi, openApi } from './openapi.ts'
import { openApiPage } from './openapi-page.ts'

/**
 * The description of the API, for programs and for people, built from `routes` when first asked for. `baseUrl` is asked
 * then, since a server on a free port learns its address late.
 */
export function describeRoutes(routes: readonly Route[], baseUrl: () => string): Routes {
  let api: OpenApi | undefined
  let document: Answer | undefined
  let page: Answer | undefined
  const built = () => (api ??= openApi(routes, baseUrl()))

  return function descriptionRoutes(http) {
    http.get('/openapi.json', { access: 'public' }, async () => (document ??= json(built())))
    http.get('/docs/api', { access: 'public', prefix: '' }, async () => (page ??= openApiPage(built())))
  }
}
