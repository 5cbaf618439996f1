import { getRouteApi } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState, Notice, Skeleton, loaded } from '../../components/feedback.tsx'
import { SelectField } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { byteSize, capitalized } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { PublicationsCard } from '../vcs-deliveries/publication-list.tsx'
import { cliHost } from '../workspaces/connect-cli.tsx'
import { Dependencies, DocumentProblems, Inputs, Outputs, Readme, Resources } from './module-documents.tsx'
import { VersionState } from './module-state.tsx'
import {
  type DocumentedModule,
  MODULES,
  type ModuleDocuments,
  type RegistryModule,
  deleteVersion,
  moduleKey,
  modulePath,
  useModuleVersion,
  useUses,
} from './registry.ts'
import { moduleBlock } from './source-lines.ts'
import { UsageTable, deletionOf, usersCount } from './usage.tsx'

const route = getRouteApi('/frame/app/$organization/registry/modules/$name/$provider')
const TARGET = '/app/$organization/registry/modules/$name/$provider'

const TABS = {
  readme: 'README',
  inputs: 'Inputs',
  outputs: 'Outputs',
  dependencies: 'Dependencies',
  resources: 'Resources',
  workspaces: 'Workspaces',
  versions: 'Versions',
} as const

type ViewProps = { module: RegistryModule; version: string }

/** A version of a module: the lines that use it, its documents and the workspaces that use it. */
export function ModuleVersionView({ module, version }: ViewProps) {
  const { organization } = route.useParams()
  const { tab, module: directory = '' } = route.useSearch()
  const query = useModuleVersion(organization, module.attributes, version)
  const { data: found, fallback } = loaded(query.version)
  const documents = loaded(query.documents)
  const uses = useUses(organization, MODULES, module.id)
  const open = openTab(TABS, tab)
  const shown = documents.data?.modules.find(({ path }) => path === directory) ?? documents.data?.modules[0]
  const search = { ...(directory !== '' && { module: directory }), version }
  return (
    <div className="space-y-4">
      <VersionBar module={module} version={version} documents={documents.data} />
      {!found && fallback}
      {found && found.attributes.status !== 'ok' && (
        <Notice tone={found.attributes.error === null ? 'info' : 'bad'}>
          {found.attributes.error === null ? (
            <VersionState status={found.attributes.status} />
          ) : (
            capitalized(found.attributes.error)
          )}
        </Notice>
      )}
      {found?.attributes.status === 'ok' && (
        <Card title="Use this version">
          <CodeBlock
            label="the module block"
            code={moduleBlock({
              host: cliHost(document.baseURI).name,
              organization,
              name: module.attributes.name,
              provider: module.attributes.provider,
              version,
              module: shown,
            })}
          />
          <p className="mt-2 text-dim">
            {byteSize(found.attributes.size ?? 0)}, published <RelativeTime at={found.attributes['updated-at']} />
            {found.attributes['commit-sha'] !== null && ` from commit ${found.attributes['commit-sha'].slice(0, 8)}`}
          </p>
        </Card>
      )}
      {documents.data && <DocumentProblems problems={documents.data.problems} />}
      <ParamTabs
        label="Parts of the version"
        tabs={TABS}
        open={open}
        counts={{ ...countsOf(shown), ...(uses.data && { workspaces: usersCount(uses.data) }) }}
        page={{ to: TARGET, params: { organization, ...nameOf(module) }, search }}
      />
      {open === 'workspaces' && (
        <UsageTable
          organization={organization}
          type={MODULES}
          id={module.id}
          noun="module"
          latest={module.attributes['latest-version']}
        />
      )}
      {open === 'versions' && <Versions module={module} />}
      {open !== 'workspaces' && open !== 'versions' && found?.attributes.status === 'ok' && (
        <Documents tab={open} documents={documents.data} fallback={documents.fallback} module={shown} />
      )}
    </div>
  )
}

function nameOf({ attributes: { name, provider } }: RegistryModule) {
  return { name, provider }
}

function countsOf(module: DocumentedModule | undefined) {
  if (!module) return {}
  const { inputs, outputs, providers, dependencies, resources } = module
  return {
    inputs: inputs.length,
    outputs: outputs.length,
    dependencies: providers.length + dependencies.length,
    resources: resources.length,
  }
}

type BarProps = ViewProps & { documents: ModuleDocuments | undefined }

/** The choice of the version, and of the root, a submodule or an example. */
function VersionBar({ module, version, documents }: BarProps) {
  const { module: directory = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const { 'version-statuses': versions, 'latest-version': latest } = module.attributes
  const modules = documents?.modules ?? []
  return (
    <div className="flex flex-wrap gap-4">
      <SelectField
        label="Version"
        value={version}
        onChange={({ target }) => void navigate({ search: (before) => ({ ...before, version: target.value }) })}
        options={versions.map((each) => [
          each.version,
          each.version === latest ? `${each.version} (latest)` : each.version,
        ])}
      />
      {modules.length > 1 && (
        <SelectField
          label="Module"
          value={directory}
          onChange={({ target }) =>
            void navigate({ search: (before) => ({ ...before, module: target.value || undefined }) })
          }
          options={modules.map(({ path, kind }) => [path, path === '' ? '(root)' : `${path} (${kind})`])}
        />
      )}
    </div>
  )
}

type DocumentsProps = {
  tab: keyof typeof TABS
  documents: ModuleDocuments | undefined
  fallback: React.ReactNode
  module: DocumentedModule | undefined
}

function Documents({ tab, documents, fallback, module }: DocumentsProps) {
  if (!documents) return fallback
  if (documents.status === 'pending') return <Skeleton label="The archive is being read" />
  if (!module) return <EmptyState title="Nothing documented" text="The archive contains no module." />
  if (tab === 'readme') return <Readme module={module} />
  if (tab === 'inputs') return <Inputs module={module} />
  if (tab === 'outputs') return <Outputs module={module} />
  return tab === 'dependencies' ? <Dependencies module={module} /> : <Resources module={module} />
}

type VersionRow = RegistryModule['attributes']['version-statuses'][number] & { id: string }

function Versions({ module }: { module: RegistryModule }) {
  const { organization } = route.useParams()
  const { permissions, 'vcs-repo': repository } = module.attributes
  const { data: uses } = useUses(organization, MODULES, module.id)
  const rows = module.attributes['version-statuses'].map((each): VersionRow => ({ ...each, id: each.version }))
  const table = (
    <Table
      label={`Versions of ${module.attributes.name}`}
      rows={rows}
      columns={[
        {
          header: 'Version',
          cell: ({ version }) => (
            <TargetLink
              leadsTo={{ to: TARGET, params: { organization, ...nameOf(module) }, search: { version } }}
              className="font-medium hover:underline"
            >
              {version}
            </TargetLink>
          ),
        },
        {
          header: 'Status',
          cell: ({ status, error }) => (
            <>
              <VersionState status={status} />
              {error !== undefined && <span className="block text-dim">{error}</span>}
            </>
          ),
        },
        {
          header: 'Workspaces',
          className: 'hidden sm:table-cell',
          cell: ({ version }) => uses && usersCount(uses, version),
        },
        {
          header: 'Actions',
          isHeaderHidden: true,
          className: 'w-px text-right',
          cell: ({ version }) => <DeleteVersion module={module} version={version} />,
        },
      ]}
    />
  )
  if (!repository) return table
  return (
    <div className="space-y-4">
      {table}
      <ModulePublications module={module} mayResync={permissions['can-delete']} />
    </div>
  )
}

/** The versions that a module got from its repository, and why not others. */
export function ModulePublications({ module: { id }, mayResync }: { module: RegistryModule; mayResync: boolean }) {
  const { organization } = route.useParams()
  return (
    <PublicationsCard
      of={{ path: `/registry-modules/${id}`, type: MODULES, scope: organization }}
      resync={mayResync ? 'Resync publishes the versions of the repository that are missing.' : undefined}
    />
  )
}

function DeleteVersion({ module, version }: ViewProps) {
  const { organization } = route.useParams()
  const { version: chosen } = route.useSearch()
  const navigate = route.useNavigate()
  const mayDelete = module.attributes.permissions['can-delete']
  const { data: uses } = useUses(organization, MODULES, module.id)
  const { path, ...confirmation } = deletionOf(uses, {
    name: version,
    version,
    path: `${modulePath(organization, module.attributes)}/${version}`,
  })
  return (
    <Confirm
      label="Delete"
      icon={Trash2}
      size="small"
      reason={mayDelete ? undefined : 'requires the permission to manage modules'}
      title={`Delete version ${version}?`}
      {...confirmation}
      done={`Version ${version} deleted`}
      onConfirm={async () => {
        await deleteVersion({
          path,
          refetched: moduleKey(organization, module.attributes),
          all: [MODULES, organization],
          leave: async () => {
            if (chosen === version) await navigate({ search: { tab: 'versions' }, replace: true })
          },
        })
      }}
    />
  )
}
