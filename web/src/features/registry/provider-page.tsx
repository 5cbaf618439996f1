import { compareVersions } from '@groundstate/contract/version-constraint'
import { getRouteApi } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorPage, Skeleton, loaded } from '../../components/feedback.tsx'
import { SelectField } from '../../components/form.tsx'
import { ListLink } from '../../components/links.tsx'
import { byteSize } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { cliHost } from '../workspaces/connect-cli.tsx'
import {
  PROVIDERS,
  type ProviderPlatform,
  type ProviderVersion,
  type RegistryProvider,
  deleteVersion,
  providerKey,
  providerPath,
  useProvider,
  useProviderPlatforms,
  useProviderVersions,
  useUses,
} from './registry.ts'
import { providerBlock } from './source-lines.ts'
import { UsageTable, deletionOf } from './usage.tsx'

const route = getRouteApi('/frame/app/$organization/registry/providers/$name')
const NO_PERMISSION = 'requires the permission to manage providers'

export function ProviderPage() {
  const { organization, name } = route.useParams()
  const query = useProvider(organization, name)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="provider" list="registry" {...failure} />
  return query.data ? <OpenProvider provider={query.data} /> : <Skeleton label="Loading the provider" />
}

function OpenProvider({ provider }: { provider: RegistryProvider }) {
  const { organization, name } = route.useParams()
  const { data: versions, fallback } = loaded(useProviderVersions(organization, name))
  return (
    <Page
      title={name}
      about="A provider of this organization."
      actions={<CopyCurl path={providerPath(organization, name)} />}
    >
      <div className="space-y-5">
        {!versions && fallback}
        {versions?.length === 0 && (
          <EmptyState title="No versions yet">
            <p>
              A version is published with the API: its SHA256SUMS, their signature and an archive for each platform.{' '}
              <DocsLink page="registry">Publish modules and providers</DocsLink>
            </p>
          </EmptyState>
        )}
        {versions && versions.length > 0 && <Versions provider={provider} versions={versions} />}
        <h2 className="text-base font-semibold">Workspaces</h2>
        <UsageTable
          organization={organization}
          type={PROVIDERS}
          id={provider.id}
          noun="provider"
          latest={latestOf(versions ?? [])}
        />
        {provider.attributes.permissions['can-delete'] && <DeleteProvider provider={provider} />}
      </div>
    </Page>
  )
}

/** The highest version that can be installed and is not a pre-release. */
function latestOf(versions: readonly ProviderVersion[]) {
  const available = versions.flatMap(({ attributes }) => (attributes['is-available'] ? attributes.version : []))
  return (
    available
      .filter((version) => !version.includes('-'))
      .toSorted(compareVersions)
      .at(-1) ?? null
  )
}

type VersionsProps = { provider: RegistryProvider; versions: readonly ProviderVersion[] }

function Versions({ provider, versions }: VersionsProps) {
  const { organization, name } = route.useParams()
  const { version: chosen } = route.useSearch()
  const navigate = route.useNavigate()
  const latest = versions.find(({ attributes }) => attributes['is-available']) ?? versions[0]
  const open = versions.find(({ attributes }) => attributes.version === chosen) ?? latest
  const platforms = loaded(useProviderPlatforms(organization, name, open?.attributes.version))
  if (!open) return null
  const { version, 'key-id': key, protocols, 'is-available': isAvailable } = open.attributes
  return (
    <>
      <div className="flex flex-wrap items-end gap-4">
        <SelectField
          label="Version"
          value={version}
          onChange={({ target }) => void navigate({ search: { version: target.value } })}
          options={versions.map(({ attributes }) => [attributes.version, attributes.version])}
        />
        <DeleteVersion provider={provider} version={version} />
      </div>
      {isAvailable ? (
        <Card title="Use this version">
          <CodeBlock
            label="the provider requirement"
            code={providerBlock({ host: cliHost(document.baseURI).name, organization, name, version })}
          />
        </Card>
      ) : (
        <StatusText {...OUTCOME_STYLE.warning} text={missingOf(open)} />
      )}
      <p className="text-dim">
        Protocols {protocols.join(', ')}, signed with the key{' '}
        <ListLink list="settings/gpg-keys" className="text-accent underline">
          <code>{key}</code>
        </ListLink>
        , created <RelativeTime at={open.attributes['created-at']} />
      </p>
      {platforms.data ? <Platforms platforms={platforms.data} /> : platforms.fallback}
    </>
  )
}

/** The parts that a version lacks before it can be installed. */
function missingOf({ attributes }: ProviderVersion) {
  if (!attributes['shasums-uploaded']) return 'Not available: SHA256SUMS is missing'
  if (!attributes['shasums-sig-uploaded']) return 'Not available: the signature of SHA256SUMS is missing'
  return 'Not available: no platform is uploaded'
}

function Platforms({ platforms }: { platforms: readonly ProviderPlatform[] }) {
  if (platforms.length === 0) return <EmptyState title="No platforms yet" />
  return (
    <Table
      isFocusable
      label="Platforms"
      rows={platforms}
      columns={[
        { header: 'Platform', cell: ({ attributes }) => `${attributes.os}_${attributes.arch}` },
        {
          header: 'File',
          className: 'hidden sm:table-cell',
          cell: ({ attributes }) => <code className="break-all">{attributes.filename}</code>,
        },
        {
          header: 'Size',
          cell: ({ attributes }) =>
            attributes['provider-binary-uploaded'] ? (
              byteSize(attributes.size ?? 0)
            ) : (
              <span className="text-dim">not uploaded</span>
            ),
        },
        {
          header: 'SHA-256',
          className: 'hidden lg:table-cell',
          cell: ({ attributes }) => <code className="break-all">{attributes.shasum.slice(0, 16)}…</code>,
        },
      ]}
    />
  )
}

function DeleteVersion({ provider, version }: { provider: RegistryProvider; version: string }) {
  const { organization, name } = route.useParams()
  const navigate = route.useNavigate()
  const { data: uses } = useUses(organization, PROVIDERS, provider.id)
  const { path, ...confirmation } = deletionOf(uses, {
    name: version,
    version,
    path: `${providerPath(organization, name)}/versions/${version}`,
  })
  return (
    <Confirm
      label="Delete version"
      icon={Trash2}
      reason={provider.attributes.permissions['can-delete'] ? undefined : NO_PERMISSION}
      title={`Delete version ${version}?`}
      {...confirmation}
      done={`Version ${version} deleted`}
      onConfirm={async () => {
        await deleteVersion({
          path,
          refetched: [...providerKey(organization, name), 'versions'],
          all: [PROVIDERS, organization],
          leave: async () => navigate({ search: {}, replace: true }),
        })
      }}
    />
  )
}

function DeleteProvider({ provider }: { provider: RegistryProvider }) {
  const { organization, name } = route.useParams()
  const deleteAndLeave = useDeleteAndLeave()
  const { data: uses } = useUses(organization, PROVIDERS, provider.id)
  const { path, ...confirmation } = deletionOf(uses, { name, path: providerPath(organization, name) })
  return (
    <Confirm
      label="Delete provider"
      icon={Trash2}
      title={`Delete ${name} with all versions?`}
      {...confirmation}
      onConfirm={async () =>
        deleteAndLeave({
          path,
          name: `Provider ${name}`,
          target: { to: '/app/$organization/registry', params: { organization }, search: { tab: 'providers' } },
          own: providerKey(organization, name),
          affected: [[PROVIDERS, organization]],
        })
      }
    />
  )
}
