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
import { type RegistryModule, requireModuleAt, requireModules } from './access.ts'
import { moduleSource, protocolModule } from './resource.ts'
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
      return json({ modules: [{ source: moduleSource(module), versions }] } satisfies ModuleVersionsResponse)
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
      return redirect(`${ctx.baseUrl}/api/registry/v1/modules/${moduleSource(module)}/${version}/download`)
    },
  )
  const show = { ...READ, summary: 'Show a module to engines', responses: { 200: terraformModuleSchema } } as const
  http.get(ONE, show, async ({ ctx, params }) => json(await terraformModule(ctx, params)))
  http.get(`${ONE}/:version`, show, async ({ ctx, params }) => json(await terraformModule(ctx, params, params.version)))
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

async function terraformModule(
  ctx: Ctx,
  { namespace, name, provider }: Path,
  version?: string,
): Promise<TerraformModule> {
  const modules = await requireModules(ctx, { organization: namespace, registry: 'private', name }, 'registry:read')
  const module = modules.find((each) => each.provider.toLowerCase() === provider.toLowerCase())
  if (!module) throw notFound('registry module')
  const published = requirePublished(module, version)
  const documents = await findDocuments(ctx.db, module.id, published.version)
  const partsOf = (kind: DocumentedModule['kind']) => moduleRoots(documents, module.name, kind)
  return {
    ...protocolModule(module, published),
    root: partsOf('root')[0] ?? { ...EMPTY_ROOT, name: module.name },
    submodules: partsOf('submodule'),
    examples: partsOf('example'),
    providers: modules.map((each) => each.provider).toSorted(),
    versions: publishedVersions(module.versions).map((each) => each.version),
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
  dependencies: [],
  resources: [],
}
