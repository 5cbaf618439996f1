import type { DocumentedModule } from '@groundstate/contract/module-documents'
import {
  type ModuleRoot,
  type ModuleVersionsResponse,
  type TerraformModule,
  moduleVersionsResponse,
  terraformModuleSchema,
} from '@groundstate/contract/registry-modules'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { json, redirect } from '../../../http/responses.ts'
import { type RegistryModule, requireModuleAt } from './access.ts'
import { moduleRoots } from './roots.ts'
import { findDocuments } from './store.ts'
import { downloadUrl } from './urls.ts'
import { latestVersion, publishedVersions } from './versions.ts'

const ONE = '/:namespace/:name/:provider'
const READ = { access: { organization: 'registry:read' }, prefix: '/api/registry/v1/modules' } as const

type Path = { namespace: string; name: string; provider: string }

/** The module registry protocol, by which engines install modules (public documentation, "Module Registry Protocol"). */
export const moduleProtocolRoutes: Routes = (http) => {
  http.get(
    `${ONE}/versions`,
    { ...READ, summary: 'List the versions of a module', responses: { 200: moduleVersionsResponse } },
    async ({ ctx, params }) => {
      const module = await requirePrivate(ctx, params)
      const versions = publishedVersions(module.versions).map(({ version }) => ({ version }))
      return json({ modules: [{ source: sourceOf(module), versions }] } satisfies ModuleVersionsResponse)
    },
  )
  http.get(
    `${ONE}/:version/download`,
    { ...READ, summary: 'Find the archive of a module', responses: { 204: null } },
    async ({ ctx, params }) => {
      const module = await requirePrivate(ctx, params)
      const { id } = requirePublished(module, params.version)
      // Without a host, since agents may reach the server at another address.
      const { pathname, search } = new URL(downloadUrl(ctx, id))
      return { status: 204, headers: { 'x-terraform-get': `${pathname}${search}` } }
    },
  )
  http.get(
    `${ONE}/download`,
    { ...READ, summary: 'Find the archive of the latest version of a module', responses: { 302: null } },
    async ({ ctx, params }) => {
      const module = await requirePrivate(ctx, params)
      const { version } = requirePublished(module)
      return redirect(`${ctx.baseUrl}/api/registry/v1/modules/${sourceOf(module)}/${version}/download`)
    },
  )
  const show = { ...READ, summary: 'Show a module to engines', responses: { 200: terraformModuleSchema } } as const
  http.get(ONE, show, async ({ ctx, params }) => {
    const module = await requirePrivate(ctx, params)
    return json(await terraformModule(ctx, module, requirePublished(module).version))
  })
  http.get(`${ONE}/:version`, show, async ({ ctx, params }) => {
    const module = await requirePrivate(ctx, params)
    return json(await terraformModule(ctx, module, requirePublished(module, params.version).version))
  })
}

async function requirePrivate(ctx: Ctx, { namespace, name, provider }: Path) {
  return requireModuleAt(ctx, { organization: namespace, registry: 'private', name, provider }, 'registry:read')
}

/** A published version, by default the latest. */
function requirePublished(module: RegistryModule, version?: string) {
  const found =
    version === undefined
      ? latestVersion(module.versions)
      : publishedVersions(module.versions).find((published) => published.version === version)
  if (!found)
    throw notFound(version === undefined ? 'published version of the module' : `version ${version} of the module`)
  return found
}

function sourceOf({ organization_name: organization, name, provider }: RegistryModule) {
  return `${organization}/${name}/${provider}`
}

async function terraformModule(ctx: Ctx, module: RegistryModule, version: string): Promise<TerraformModule> {
  const { organization_name: organization, name, provider } = module
  const documents = await findDocuments(ctx.db, module.id, version)
  const partsOf = (kind: DocumentedModule['kind']) => moduleRoots(documents, name, kind)
  return {
    id: `${sourceOf(module)}/${version}`,
    owner: '',
    namespace: organization,
    name,
    version,
    provider,
    provider_logo_url: '',
    description: '',
    source: module.repository?.page_url ?? '',
    tag: '',
    published_at: module.updated_at,
    downloads: 0,
    verified: false,
    root: partsOf('root')[0] ?? { ...EMPTY_ROOT, name },
    submodules: partsOf('submodule'),
    examples: partsOf('example'),
    providers: [provider],
    versions: publishedVersions(module.versions).map((published) => published.version),
  }
}

const EMPTY_ROOT: ModuleRoot = {
  path: '',
  name: '',
  readme: '',
  empty: true,
  inputs: [],
  outputs: [],
  provider_dependencies: [],
  resources: [],
}
