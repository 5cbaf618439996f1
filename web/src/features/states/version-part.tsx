import { getRouteApi, Link } from '@tanstack/react-router'
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
import { originText, RunAuthorName } from '../runs/run-origin.tsx'
import { runTitle } from '../runs/run-title.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { DeleteContent, MissingContent } from './deleted-content.tsx'
import { PartHeader } from './part-header.tsx'
import { RawView } from './raw-view.tsx'
import { RollBack, RollBackLink, RolledBack } from './roll-back.tsx'
import { type AuthoredVersion, useStateVersion } from './states.ts'
import { VersionOutputs } from './version-outputs.tsx'
import { VersionResources } from './version-resources.tsx'
import { fileName, marksOf } from './version-words.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** One version: what is known of it, and what it holds. */
export function VersionPart({ id }: { id: string }) {
  const { workspace } = useOpenWorkspace()
  const read = useStateVersion(id)
  const failure = failureOf(read)
  const { data, isPending } = read
  if (isPending) return <Skeleton rows={8} label="Loading the state" />
  if (failure && !isNotFound(failure.error)) return <ErrorNote {...failure} />
  if (failure || !data || data.version.relationships.workspace.data?.id !== workspace.id)
    return <NoSuchVersion id={id} />
  return <Version own={data} />
}

function NoSuchVersion({ id }: { id: string }) {
  const params = route.useParams()
  return (
    <EmptyState
      title="There is no such state"
      actions={
        <Link
          to="/app/$organization/workspaces/$workspace/states"
          params={params}
          className={buttonClass({ kind: 'primary' })}
        >
          All states
        </Link>
      }
    >
      <p>
        This workspace has no state <code>{id}</code>.
      </p>
    </EmptyState>
  )
}

function Version({ own }: { own: AuthoredVersion }) {
  const { workspace } = useOpenWorkspace()
  const params = route.useParams()
  const { show } = route.useSearch()
  const { version } = own
  const { attributes } = version
  const currentId = workspace.relationships['current-state-version'].data?.id
  const url = attributes['hosted-state-download-url']
  usePageTitle(`${workspace.attributes.name} · state ${attributes.serial}`)

  if (show === 'rollback') return <RollBack target={version} />
  return (
    <div className="space-y-4">
      <PartHeader
        title={`Serial ${attributes.serial}`}
        beside={marksOf(version, currentId).map(({ text, tone, icon, title }) => (
          <Badge key={text} tone={tone} icon={icon} title={title}>
            {text}
          </Badge>
        ))}
        actions={
          url !== null && (
            <>
              <a href={ownPath(url)} download={fileName(workspace.attributes.name, version)} className={buttonClass()}>
                <Download size={16} aria-hidden="true" />
                Download
              </a>
              <Link
                to="/app/$organization/workspaces/$workspace/states"
                params={params}
                search={({ page }) => ({ page, from: 'previous', to: version.id })}
                resetScroll={false}
                className={buttonClass()}
              >
                <GitCompare size={16} aria-hidden="true" />
                What changed
              </Link>
              <RollBackLink target={version} />
            </>
          )
        }
      />
      <RolledBack version={version} />
      <VersionFacts own={own} />
      {url === null ? (
        <MissingContent version={version} />
      ) : (
        <>
          <Parts version={own.version} />
          {show === 'raw' ? (
            <RawPart url={url} size={attributes.size} />
          ) : show === 'outputs' ? (
            <VersionOutputs id={version.id} />
          ) : (
            <VersionResources version={version} />
          )}
          <DeleteContent version={version} />
        </>
      )}
    </div>
  )
}

function VersionFacts({ own: { version, run, author } }: { own: AuthoredVersion }) {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes } = version
  const facts: (readonly [string, ReactNode])[] = [
    ['Made', <RelativeTime key="ago" at={attributes['created-at']} />],
    [
      'By',
      <span key="by" className="flex flex-wrap gap-x-1.5">
        <RunAuthorName run={run?.attributes ?? { source: 'tfe-api' }} author={author} />
        {run && <span className="text-dim">· {originText(run.attributes)}</span>}
      </span>,
    ],
    [
      'Run',
      run && (
        <Link
          key="run"
          to="/app/$organization/workspaces/$workspace/runs/$run"
          params={{ organization, workspace: workspace.attributes.name, run: run.id }}
          className="text-accent hover:underline"
        >
          {runTitle({ id: run.id, message: run.attributes.message })}
        </Link>
      ),
    ],
    ['Size', attributes.size > 0 ? byteSize(attributes.size) : undefined],
    ['Engine', attributes['engine-version'] ?? undefined],
    [
      'Lineage',
      attributes.lineage === null ? undefined : <Copied key="lineage" name="lineage" text={attributes.lineage} />,
    ],
    ['MD5', attributes.md5 === null ? undefined : <Copied key="md5" name="MD5" text={attributes.md5} />],
    ['Id', <Copied key="id" name="id" text={version.id} />],
  ]
  return (
    <dl className="grid gap-x-6 gap-y-1.5 rounded-lg border border-line bg-paper px-4 py-3 sm:grid-cols-2 xl:grid-cols-3">
      {facts.map(([name, value]) =>
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

function Copied({ name, text }: { name: string; text: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="truncate" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={`Copy the ${name}`} />
    </span>
  )
}

const PARTS = [
  ['resources', 'Resources'],
  ['outputs', 'Outputs'],
  ['raw', 'Raw'],
] as const

function Parts({ version }: { version: AuthoredVersion['version'] }) {
  const { workspace } = useOpenWorkspace()
  const params = route.useParams()
  const { show = 'resources' } = route.useSearch()
  const { 'resource-count': count, 'resources-processed': isProcessed } = version.attributes
  const mayReadOutputs = workspace.attributes.permissions['can-read-state-outputs']
  return (
    <>
      {!isProcessed && (
        <Notice role="status">
          The resources and outputs are being read from the state. They come here by themselves.
        </Notice>
      )}
      <nav aria-label="Parts of the state" className="border-b border-line">
        <ul className="flex gap-1">
          {PARTS.filter(([part]) => part !== 'outputs' || mayReadOutputs).map(([part, text]) => (
            <li key={part}>
              <Link
                to="/app/$organization/workspaces/$workspace/states"
                params={params}
                search={({ page, version: open }) => ({
                  page,
                  version: open,
                  show: part === 'resources' ? undefined : part,
                })}
                resetScroll={false}
                // What is open is told here: the search text is no part of these addresses.
                activeOptions={{ exact: true }}
                aria-current={show === part ? 'page' : undefined}
                className="flex items-center gap-1.5 border-b-2 border-transparent px-3 py-2 font-medium text-dim no-underline hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
              >
                {text}
                {part === 'resources' && isProcessed && (
                  <span className="numeric rounded bg-hover px-1.5 text-xs">{count.toLocaleString('en')}</span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </>
  )
}

function RawPart({ url, size }: { url: string; size: number }) {
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <RawView
      url={url}
      size={size}
      query={q}
      onQuery={(text) =>
        void navigate({ search: (before) => ({ ...before, q: text || undefined }), replace: true, resetScroll: false })
      }
    />
  )
}
