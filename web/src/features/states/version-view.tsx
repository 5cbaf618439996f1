import { Download, GitCompare } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { ApiError, isNotFound, ownPath } from '../../api/client.ts'
import { buttonClass } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { EmptyState, loaded, Notice } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { moduleRows, ModuleRows } from '../../components/module-rows.tsx'
import { byteSize } from '../../components/numbers.ts'
import { usePageTitle } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge, TaintedBadge } from '../../components/status.tsx'
import { Table } from '../../components/table.tsx'
import { TabBar, type TabLinkProps } from '../../components/tabs.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { originText, RunAuthorName } from '../runs/run-origin.tsx'
import { useVersionOutputs } from '../runs/run.ts'
import { OUTPUT_COLUMNS } from '../workspaces/outputs-card.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { PanelHeader, StatesLink, useStatesSearch } from './navigation.tsx'
import { RawView } from './raw-view.tsx'
import type { AuthoredVersion, StateVersion } from './states.ts'
import { useStateVersion, useVersionResources, versionBadges } from './states.ts'
import { MissingData, RollbackButton, RollbackNotice, RollbackPreview, VersionMenu } from './version-actions.tsx'

export function VersionView({ id }: { id: string }) {
  const { workspace } = useOpenWorkspace()
  const query = useStateVersion(id)
  const { data, fallback } = loaded(query, { rows: 8, label: 'Loading the state' })
  if (!data && !isNotFound(query.error)) return fallback
  if (data?.version.relationships.workspace.data?.id === workspace.id) return <Version own={data} />
  return (
    <EmptyState
      title="No such state version"
      actions={<StatesLink className={buttonClass({ kind: 'primary' })}>All states</StatesLink>}
    >
      <p>
        This workspace has no state version <code>{id}</code>.
      </p>
    </EmptyState>
  )
}

function Version({ own }: { own: AuthoredVersion }) {
  const { workspace } = useOpenWorkspace()
  const [{ show, q = '' }, setSearch] = useStatesSearch()
  const { version } = own
  const { attributes } = version
  const { name } = workspace.attributes
  const currentId = workspace.relationships['current-state-version'].data?.id
  const url = attributes['hosted-state-download-url']
  const search = (text: string) => setSearch({ q: text || undefined })
  const shown =
    show === 'raw' || show === 'outputs' || show === 'rollback' ? ` · ${show === 'raw' ? 'JSON' : show}` : ''
  usePageTitle(`${name} · state ${attributes.serial}${shown}`)

  if (show === 'rollback') return <RollbackPreview target={version} />
  return (
    <div className="space-y-4">
      <PanelHeader
        title={`Serial ${attributes.serial}`}
        meta={versionBadges(version, currentId).map((badge) => (
          <Badge key={badge.text} {...badge} />
        ))}
        actions={
          url !== null && (
            <>
              <a href={ownPath(url)} download={`${name}-${attributes.serial}.tfstate`} className={buttonClass()}>
                <Download size={16} />
                Download
              </a>
              <StatesLink search={{ from: 'previous', to: version.id }} resetScroll={false} className={buttonClass()}>
                <GitCompare size={16} />
                Compare with previous
              </StatesLink>
              <RollbackButton target={version} />
              <CopyCurl path={`/state-versions/${version.id}`} />
              <VersionMenu version={version} has="deletion" />
            </>
          )
        }
      />
      <RollbackNotice version={version} />
      <Summary own={own} />
      {url === null ? (
        <MissingData version={version} />
      ) : (
        <>
          {!attributes['resources-processed'] && (
            <Notice role="status">Resources and outputs are being extracted. This page updates automatically.</Notice>
          )}
          <VersionTabs version={version} />
          {show === 'raw' && <RawView id={version.id} url={url} size={attributes.size} query={q} onQuery={search} />}
          {show === 'outputs' && <VersionOutputs id={version.id} />}
          {show !== 'raw' && show !== 'outputs' && <VersionResources version={version} />}
        </>
      )}
    </div>
  )
}

function Summary({ own: { version, run, author } }: { own: AuthoredVersion }) {
  const { workspace } = useOpenWorkspace()
  const { lineage, md5, size, 'created-at': createdAt, 'engine-version': engine } = version.attributes
  const name = workspace.attributes.name
  return (
    <dl className="grid gap-x-6 gap-y-1.5 rounded-lg border border-line bg-paper px-4 py-3 sm:grid-cols-2 xl:grid-cols-3">
      <Item name="Created" value={<RelativeTime at={createdAt} />} />
      <Item name="Author" value={<Author run={run} author={author} />} />
      <Item name="Run" value={run && <RunLink workspace={name} run={run} className="text-accent hover:underline" />} />
      <Item name="Size" value={size > 0 ? byteSize(size) : undefined} />
      <Item name="Engine" value={engine} />
      <Item name="Lineage" value={lineage && <Copyable name="lineage" text={lineage} />} />
      <Item name="MD5" value={md5 && <Copyable name="MD5" text={md5} />} />
      <Item name="ID" value={<Copyable name="ID" text={version.id} />} />
    </dl>
  )
}

function Item({ name, value }: { name: string; value: ReactNode }) {
  if (value === undefined || value === null) return null
  return (
    <div className="flex min-w-0 items-center gap-2">
      <dt className="w-16 shrink-0 text-dim">{name}</dt>
      <dd className="min-w-0 flex-1">{value}</dd>
    </div>
  )
}

function Author({ run, author }: Pick<AuthoredVersion, 'run' | 'author'>) {
  return (
    <span className="flex flex-wrap gap-x-1.5">
      <RunAuthorName run={run?.attributes ?? { source: 'tfe-api' }} author={author} />
      {run && <span className="text-dim">· {originText(run.attributes)}</span>}
    </span>
  )
}

function Copyable({ name, text }: { name: string; text: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="truncate" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={`Copy ${name}`} />
    </span>
  )
}

const TABS = [
  { text: 'Resources', show: undefined },
  { text: 'Outputs', show: 'outputs' },
  { text: 'Raw JSON', show: 'raw' },
] as const

function VersionTabs({ version: { id, attributes } }: { version: StateVersion }) {
  const { workspace } = useOpenWorkspace()
  const [search] = useStatesSearch()
  const mayReadOutputs = workspace.attributes.permissions['can-read-state-outputs']
  const count = attributes['resources-processed'] ? attributes['resource-count'] : undefined
  const tabs = TABS.filter(({ show }) => show !== 'outputs' || mayReadOutputs).map(({ text, show }) => ({
    text,
    count: show === undefined ? count : undefined,
    render: (props: TabLinkProps) => (
      <StatesLink
        search={{ version: id, show }}
        resetScroll={false}
        // `aria-current` ignores the search text, which these links drop.
        activeOptions={{ exact: true }}
        aria-current={search.show === show ? 'page' : undefined}
        {...props}
      />
    ),
  }))
  return <TabBar label="State sections" tabs={tabs} />
}

function VersionResources({ version }: { version: StateVersion }) {
  const [{ q = '' }, setSearch] = useStatesSearch()
  const query = useVersionResources(version.id)
  const { data: resources, fallback } = loaded(query, { rows: 8, label: 'Loading resources' })
  if (!resources) return fallback
  if (resources.length === 0)
    return version.attributes['resources-processed'] ? <p className="text-dim">No resources</p> : null
  const rows = resourceRows(resources, q)
  return (
    <div className="space-y-3">
      <SearchField
        label="Search resources"
        value={q}
        onChange={(text) => setSearch({ q: text || undefined })}
        className="w-full sm:w-72"
      />
      {rows.length === 0 ? (
        <Notice>No resource has “{q}” in its address or provider.</Notice>
      ) : (
        <ModuleRows
          label="Resources"
          rows={rows}
          hasCounts={false}
          maxStatic={80}
          rowHeight={29}
          keyOf={({ module, address }) => `${module} ${address}`}
          className="rounded-lg border border-line bg-paper"
          render={(resource) => <ResourceLine {...resource} />}
        />
      )}
    </div>
  )
}

/** `provider["registry.terraform.io/hashicorp/aws"]`. */
const SOURCE = /^provider\["(.+)"\]/

type StateResource = StateVersion['attributes']['resources'][number]

export function resourceRows(resources: readonly StateResource[], q: string) {
  const query = q.trim().toLowerCase()
  const matching = resources.filter(({ module, type, name, provider }) =>
    `${module === 'root' ? '' : `${module}.`}${type}.${name} ${provider}`.toLowerCase().includes(query),
  )
  return moduleRows(
    matching
      .map(({ type, name, module, provider, count, tainted = 0 }) => {
        return { module, address: `${type}.${name}`, provider: SOURCE.exec(provider)?.[1] ?? provider, count, tainted }
      })
      .sort((a, b) => a.address.localeCompare(b.address)),
  )
}

type ResourceLineProps = { address: string; provider: string; count: number; tainted: number }

function ResourceLine({ address, provider, count, tainted }: ResourceLineProps) {
  return (
    <div className="flex items-baseline gap-3 border-b border-line px-3 py-1">
      <code className="min-w-0 flex-1">{address}</code>
      <TaintedBadge tainted={tainted} count={count} />
      <span className="truncate text-dim max-md:hidden">{provider}</span>
      <span className="numeric w-12 shrink-0 text-right text-dim">
        {count > 1 && `× ${count.toLocaleString('en')}`}
      </span>
    </div>
  )
}

/** The outputs of a version. Revealing a sensitive value is recorded in the audit trail. */
function VersionOutputs({ id }: { id: string }) {
  const [page, setPage] = useState(1)
  const query = useVersionOutputs(id, page)
  const { data, fallback } = loaded(query, { label: 'Loading outputs' })
  if (!data && query.error instanceof ApiError && query.error.status === 503)
    return <Notice role="status">The outputs are being extracted. This page updates automatically.</Notice>
  if (!data) return fallback
  if (data.data.length === 0) return <p className="text-dim">No outputs</p>
  return (
    <>
      <Table label="Outputs" columns={OUTPUT_COLUMNS} rows={data.data} />
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </>
  )
}
