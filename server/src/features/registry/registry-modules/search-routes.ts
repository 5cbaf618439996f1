import { type TerraformModulesResponse, terraformModulesResponse } from '@groundstate/contract/registry-modules'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import type { Routes } from '../../../http/http.ts'
import { type Query, boolean, count, requiredText, text } from '../../../http/query.ts'
import { json } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { type RegistryModule, requireModules } from './access.ts'
import { protocolModule } from './resource.ts'
import { searchModules } from './search.ts'
import { latestVersion } from './versions.ts'

const PREFIX = '/api/registry/v1/modules'
const READ = { access: { organization: 'registry:read' } } as const

const PAGE = {
  limit: count().describe('at most 100; 15 by default'),
  offset: count().describe('modules to leave out'),
  provider: text(),
  verified: boolean().describe('true finds nothing: a private registry has no partners'),
}
const LIST = {
  access: 'signed-in',
  prefix: PREFIX,
  responses: { 200: terraformModulesResponse },
} as const

/** The lists that public documentation adds to the module registry protocol ("Registry API"), for people and tools that look for modules. */
export const moduleSearchRoutes: Routes = (http) => {
  http.get('', { ...LIST, summary: 'Browse modules', query: PAGE }, async ({ ctx, query }) => listed(ctx, '', query))
  http.get(
    '/search',
    {
      ...LIST,
      summary: 'Search modules by words of their addresses',
      query: { ...PAGE, q: requiredText(), namespace: text() },
    },
    async ({ ctx, query }) => listed(ctx, '/search', query),
  )
  http.get(
    '/:namespace',
    { ...LIST, ...READ, summary: 'Browse the modules of an organization', query: PAGE },
    async ({ ctx, params: { namespace }, query }) => {
      const { name } = await requireOrganization(ctx, namespace, 'registry:read')
      return listed(ctx, `/${name}`, { ...query, namespace: name })
    },
  )
  http.get(
    '/:namespace/:name',
    { ...LIST, ...READ, summary: 'List the latest version of a module for each provider' },
    async ({ ctx, params: { namespace, name } }) => {
      const address = { organization: namespace, registry: 'private', name }
      const modules = (await requireModules(ctx, address, 'registry:read')).flatMap(listedModule)
      if (modules.length === 0) throw notFound('published version of the module')
      const meta = { limit: modules.length, current_offset: 0 }
      return json({ meta, modules } satisfies TerraformModulesResponse)
    },
  )
}

type ListQuery = Partial<Query<typeof PAGE>> & { q?: string; namespace?: string | undefined }

async function listed(ctx: Ctx, path: string, { verified = false, ...query }: ListQuery) {
  const limit = Math.min(query.limit || DEFAULT_LIMIT, MAX_LIMIT)
  const { offset = 0, provider, namespace, q } = query
  const search = { query: q, namespace, provider, limit, offset }
  const { modules, isLast } = verified ? { modules: [], isLast: true } : await searchModules(ctx, search)
  const next = offset + limit
  const kept = Object.entries({ limit, offset: next, provider, q, ...(path === '/search' && { namespace }) })
  const parameters = new URLSearchParams(
    kept.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]])),
  )
  return json({
    meta: {
      limit,
      current_offset: offset,
      ...(!isLast && {
        next_offset: next,
        next_url: `${basePath(ctx.baseUrl)}${PREFIX}${path}?${parameters.toString()}`,
      }),
      ...(offset > 0 && { prev_offset: Math.max(0, offset - limit) }),
    },
    modules: modules.flatMap(listedModule),
  } satisfies TerraformModulesResponse)
}

/** Defaults of the public registry. */
const DEFAULT_LIMIT = 15
const MAX_LIMIT = 100

/** The latest version of a module; none if no version is published. */
function listedModule(module: RegistryModule) {
  const latest = latestVersion(module.versions)
  return latest ? [protocolModule(module, latest)] : []
}
