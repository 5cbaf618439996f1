import { Download, GitCompare } from 'lucide-react'
import type { ReactNode } from 'react'
import { isNotFound, ownPath } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { byteSize } from '../../components/numbers.ts'
import { usePageTitle } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { originText, RunAuthorName } from '../runs/run-origin.tsx'
import { runTitle } from '../runs/run-text.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { PanelHeader, StatesLink, useStatesSearch } from './navigation.tsx'
import { RawView } from './raw-view.tsx'
import { RollbackButton, RollbackNotice, RollbackPreview } from './rollback.tsx'
import { DeleteStateData, MissingData } from './state-data.tsx'
import { type AuthoredVersion, type StateVersion, useStateVersion } from './states.ts'
import { VersionOutputs, VersionResources } from './version-contents.tsx'
import { stateFileName, versionBadges } from './version-text.ts'

export function VersionView({ id }: { id: string }) {
  const { workspace } = useOpenWorkspace()
  const query = useStateVersion(id)
  const failure = failureOf(query)
  const { data, isPending } = query
  if (isPending) return <Skeleton rows={8} label="Loading the state" />
  if (failure && !isNotFound(failure.error)) return <ErrorNote {...failure} />
  if (!failure && data?.version.relationships.workspace.data?.id === workspace.id) return <Version own={data} />
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
  const currentId = workspace.relationships['current-state-version'].data?.id
  const url = attributes['hosted-state-download-url']
  usePageTitle(`${workspace.attributes.name} · state ${attributes.serial}`)

  if (show === 'rollback') return <RollbackPreview target={version} />
  return (
    <div className="space-y-4">
      <PanelHeader
        title={`Serial ${attributes.serial}`}
        meta={versionBadges(version, currentId).map(({ text, ...badge }) => (
          <Badge key={text} {...badge}>
            {text}
          </Badge>
        ))}
        actions={
          url !== null && (
            <>
              <a
                href={ownPath(url)}
                download={stateFileName(workspace.attributes.name, version)}
                className={buttonClass()}
              >
                <Download size={16} />
                Download
              </a>
              <StatesLink search={{ from: 'previous', to: version.id }} resetScroll={false} className={buttonClass()}>
                <GitCompare size={16} />
                Compare with previous
              </StatesLink>
              <RollbackButton target={version} />
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
          <TabLinks version={version} />
          {show === 'raw' ? (
            <RawView
              url={url}
              size={attributes.size}
              query={q}
              onQuery={(text) => setSearch({ q: text || undefined })}
            />
          ) : show === 'outputs' ? (
            <VersionOutputs id={version.id} />
          ) : (
            <VersionResources version={version} />
          )}
          <DeleteStateData version={version} />
        </>
      )}
    </div>
  )
}

function Summary({ own: { version, run, author } }: { own: AuthoredVersion }) {
  const { organization, workspace } = useOpenWorkspace()
  const { lineage, md5, size, 'created-at': createdAt, 'engine-version': engine } = version.attributes
  const items: readonly (readonly [string, ReactNode])[] = [
    ['Created', <RelativeTime key="created" at={createdAt} />],
    [
      'Author',
      <span key="author" className="flex flex-wrap gap-x-1.5">
        <RunAuthorName run={run?.attributes ?? { source: 'tfe-api' }} author={author} />
        {run && <span className="text-dim">· {originText(run.attributes)}</span>}
      </span>,
    ],
    [
      'Run',
      run && (
        <RunLink
          key="run"
          organization={organization}
          workspace={workspace.attributes.name}
          run={run.id}
          className="text-accent hover:underline"
        >
          {runTitle({ id: run.id, message: run.attributes.message })}
        </RunLink>
      ),
    ],
    ['Size', size > 0 ? byteSize(size) : undefined],
    ['Engine', engine],
    ['Lineage', lineage === null ? undefined : <Copyable key="lineage" name="lineage" text={lineage} />],
    ['MD5', md5 === null ? undefined : <Copyable key="md5" name="MD5" text={md5} />],
    ['ID', <Copyable key="id" name="ID" text={version.id} />],
  ]
  return (
    <dl className="grid gap-x-6 gap-y-1.5 rounded-lg border border-line bg-paper px-4 py-3 sm:grid-cols-2 xl:grid-cols-3">
      {items.map(([name, value]) =>
        value === undefined || value === null ? null : (
          <div key={name} className="flex min-w-0 items-center gap-2">
            <dt className="w-16 shrink-0 text-dim">{name}</dt>
            <dd className="min-w-0 flex-1">{value}</dd>
          </div>
        ),
      )}
    </dl>
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
  ['resources', 'Resources'],
  ['outputs', 'Outputs'],
  ['raw', 'Raw JSON'],
] as const

function TabLinks({ version: { id, attributes } }: { version: StateVersion }) {
  const { workspace } = useOpenWorkspace()
  const [{ show = 'resources' }] = useStatesSearch()
  const mayReadOutputs = workspace.attributes.permissions['can-read-state-outputs']
  return (
    <nav aria-label="State sections" className="border-b border-line">
      <ul className="flex gap-1">
        {TABS.filter(([tab]) => tab !== 'outputs' || mayReadOutputs).map(([tab, text]) => (
          <li key={tab}>
            <StatesLink
              search={{ version: id, show: tab === 'resources' ? undefined : tab }}
              resetScroll={false}
              // `aria-current` below ignores the search text, which these links drop.
              activeOptions={{ exact: true }}
              aria-current={show === tab ? 'page' : undefined}
              className="flex items-center gap-1.5 border-b-2 border-transparent px-3 py-2 font-medium text-dim no-underline hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
            >
              {text}
              {tab === 'resources' && attributes['resources-processed'] && (
                <span className="numeric rounded bg-hover px-1.5 text-xs">
                  {attributes['resource-count'].toLocaleString('en')}
                </span>
              )}
            </StatesLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}
