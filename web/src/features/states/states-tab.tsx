import { Database } from 'lucide-react'
import type { ReactNode } from 'react'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { byteSize } from '../../components/numbers.ts'
import { usePageTitle } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { RunAuthorName } from '../runs/run-origin.tsx'
import { ConnectCli } from '../workspaces/connect-cli.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { Comparison } from './comparison.tsx'
import { StatesLink, statesRoute } from './navigation.tsx'
import { type AuthoredVersion, resourceCount, useStateVersions, versionBadges } from './states.ts'
import { VersionMenu } from './version-actions.tsx'
import { VersionView } from './version-view.tsx'

/** The timeline of a workspace's states, next to a state version or a comparison if one is open. */
export function StatesTab() {
  const { workspace } = useOpenWorkspace()
  const { version, from, to } = statesRoute.useSearch()
  const { name, permissions } = workspace.attributes
  usePageTitle(`${name} · states`)
  if (!permissions['can-read-state-versions']) {
    return (
      <EmptyState icon={Database} title="You don’t have access to the states">
        <p>States contain secrets. A workspace administrator can grant your team access to them.</p>
      </EmptyState>
    )
  }
  const open =
    version !== undefined ? (
      <VersionView key={version} id={version} />
    ) : from !== undefined && to !== undefined ? (
      <Comparison from={from} to={to} />
    ) : undefined
  // The timeline stays mounted, so that a pin that was clicked keeps the focus.
  return (
    <div className={open ? 'grid gap-4 lg:grid-cols-[23rem_minmax(0,1fr)]' : ''}>
      <div className={open ? 'max-lg:hidden' : ''}>
        <Timeline isCompact={open !== undefined} empty={<NoStates />} />
      </div>
      {open && <div className="min-w-0">{open}</div>}
    </div>
  )
}

function NoStates() {
  const { organization, workspace } = useOpenWorkspace()
  const { name, 'execution-mode': mode } = workspace.attributes
  return (
    <EmptyState icon={Database} title="No states yet">
      <p>The first apply stores a state. All versions are kept.</p>
      <div className="space-y-4 text-left">
        <ConnectCli organization={organization} workspace={name} isLocal={mode === 'local'} />
        <p>
          To migrate a state from a local file or another backend, add the block and run <code>terraform init</code>. To
          upload any other state file:
        </p>
        <CodeBlock label="Upload command" code="terraform state push terraform.tfstate" />
      </div>
    </EmptyState>
  )
}

/** The state versions of the workspace, newest first. Next to an open version it is narrow and scrolls separately. */
function Timeline({ isCompact, empty }: { isCompact: boolean; empty: ReactNode }) {
  const { organization, workspace } = useOpenWorkspace()
  const { page = 1, from, to } = statesRoute.useSearch()
  const navigate = statesRoute.useNavigate()
  const versions = useStateVersions({ id: workspace.id, organization, name: workspace.attributes.name }, page)
  const { data, fallback } = loaded(versions, { rows: 8, label: 'Loading states' })
  if (!data) return fallback
  const { rows, pagination } = data
  if (rows.length === 0 && page === 1) return empty
  const counts = rows.map(({ version }) => resourceCount(version))
  const maxCount = Math.max(0, ...counts.map((count) => count ?? 0))
  return (
    <div {...(isCompact ? PANE : { className: 'space-y-3' })}>
      {!isCompact && rows.length > 1 && <PinHint isPinned={(from ?? to) !== undefined} />}
      <ol
        aria-label="State versions, newest first"
        className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-paper"
      >
        {rows.map((row, at) => (
          <TimelineRow
            key={row.id}
            counts={{ newer: counts[at - 1], own: counts[at], older: counts[at + 1] }}
            {...{ row, rows, maxCount, isCompact }}
          />
        ))}
      </ol>
      <Pager
        pagination={pagination}
        onPage={(next) => void navigate({ search: (before) => ({ ...before, page: next === 1 ? undefined : next }) })}
      />
    </div>
  )
}

const PANE = {
  role: 'region',
  'aria-label': 'State timeline',
  // Lets the keyboard scroll it.
  tabIndex: 0,
  className: 'sticky top-16 max-h-[calc(100vh-5rem)] overflow-auto p-0.5',
}

function PinHint({ isPinned }: { isPinned: boolean }) {
  return (
    <p role="status" className={isPinned ? 'font-medium text-accent' : 'text-dim'}>
      {isPinned ? 'One version is pinned. Pin another to compare them.' : 'Pin two versions, A and B, to compare them.'}
    </p>
  )
}

type TimelineRowProps = {
  row: AuthoredVersion
  rows: readonly AuthoredVersion[]
  counts: Counts
  maxCount: number
  isCompact: boolean
}

function TimelineRow({ row, rows, counts, maxCount, isCompact }: TimelineRowProps) {
  const { id, version, run, author } = row
  const { workspace } = useOpenWorkspace()
  const { version: openId } = statesRoute.useSearch()
  const { serial, size, 'created-at': createdAt } = version.attributes
  const currentId = workspace.relationships['current-state-version'].data?.id
  const originalId = version.relationships['rollback-state-version']?.data?.id
  const original = rows.find((other) => other.id === originalId)
  return (
    <li
      className={`relative flex items-center px-3 hover:bg-hover ${isCompact ? 'gap-x-2' : 'gap-x-3'} ${id === openId ? 'bg-accent-soft' : ''}`}
    >
      <div className="flex gap-1 py-2">
        <Pin id={id} serial={serial} pin="from" isSmall={isCompact} />
        <Pin id={id} serial={serial} pin="to" isSmall={isCompact} />
      </div>
      <div className="min-w-0 flex-1 py-2">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <StatesLink
            search={{ version: id }}
            resetScroll={false}
            aria-current={id === openId || undefined}
            className="numeric font-medium hover:underline"
          >
            Serial {serial}
          </StatesLink>
          {versionBadges(version, currentId, original?.version).map((badge) => (
            <Badge key={badge.text} {...badge} />
          ))}
        </div>
        <div className={`flex items-center gap-x-1.5 text-dim ${isCompact ? '' : 'flex-wrap'}`}>
          <RunAuthorName run={run?.attributes ?? { source: 'tfe-api' }} author={author} />
          {run && (
            <span className={isCompact ? 'hidden' : 'max-w-80 min-w-0 truncate'}>
              in <RunLink workspace={workspace.attributes.name} run={run} className="text-accent underline" />
            </span>
          )}
          <span aria-hidden="true">·</span>
          <RelativeTime at={createdAt} />
        </div>
      </div>
      <span className={`numeric w-20 text-right text-dim ${isCompact ? 'hidden' : 'max-md:hidden'}`}>
        {size > 0 && byteSize(size)}
      </span>
      <span className={`numeric text-right ${isCompact ? 'min-w-8' : 'min-w-9 sm:w-32'}`}>
        {counts.own?.toLocaleString('en')}
        {counts.own !== undefined && (
          <span className={isCompact ? 'sr-only' : 'max-sm:sr-only'}>
            {counts.own === 1 ? ' resource' : ' resources'}
          </span>
        )}
      </span>
      <span className={`numeric w-10 text-dim ${isCompact ? 'hidden' : 'max-sm:hidden'}`}>{countChange(counts)}</span>
      <div className={`shrink-0 self-stretch ${isCompact ? 'w-9' : 'w-12 sm:w-16'}`}>
        <CountLine points={countLine(counts, maxCount)} />
      </div>
      {!isCompact && (
        <div className="relative min-w-8 shrink-0">
          <VersionMenu version={version} />
        </div>
      )}
    </li>
  )
}

/** Resource counts of a row and its neighbours; undefined if unknown or if there is no such row. */
type Counts = { newer: number | undefined; own: number | undefined; older: number | undefined }

/** A row's section of the line chart, as SVG points in a 100 × 100 box; empty if the count is unknown. */
export function countLine({ newer, own, older }: Counts, maxCount: number): string {
  if (own === undefined) return ''
  const x = (count: number) => (maxCount === 0 ? 0 : Math.round((count / maxCount) * 1000) / 10)
  const points: [number, number][] = [[x(own), 50]]
  if (newer !== undefined) points.unshift([x((newer + own) / 2), 0])
  if (older !== undefined) points.push([x((own + older) / 2), 100])
  return points.map((point) => point.join(',')).join(' ')
}

/** "+3", "−2", or undefined if unchanged or unknown. */
export function countChange({ own, older }: Counts) {
  if (own === undefined || older === undefined || own === older) return undefined
  return own > older ? `+${(own - older).toLocaleString('en')}` : `−${(older - own).toLocaleString('en')}`
}

/** Hidden from screen readers, which read the count. */
function CountLine({ points }: { points: string }) {
  if (points === '') return null
  const [x = '0'] = (points.split(' ').find((point) => point.endsWith(',50')) ?? '').split(',')
  return (
    <div className="relative h-full" aria-hidden="true">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" className="absolute inset-0 size-full overflow-visible">
        <polyline
          points={points}
          fill="none"
          stroke="var(--accent)"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <span
        className="absolute top-1/2 size-1.5 -translate-x-1/2 -translate-y-1/2 rounded-full bg-accent"
        style={{ left: `${x}%` }}
      />
    </div>
  )
}

const PIN_NAMES = { from: 'A', to: 'B' } as const

function Pin({ id, serial, pin, isSmall }: { id: string; serial: number; pin: 'from' | 'to'; isSmall: boolean }) {
  const search = statesRoute.useSearch()
  const navigate = statesRoute.useNavigate()
  const isPinned = search[pin] === id
  const other = pin === 'from' ? 'to' : 'from'
  return (
    <button
      type="button"
      aria-pressed={isPinned}
      aria-label={`Pin serial ${serial} as ${PIN_NAMES[pin]}`}
      onClick={() =>
        void navigate({
          resetScroll: false,
          search: (before) => ({
            page: before.page,
            // A version cannot be compared with itself.
            [other]: before[other] === id || before[other] === 'previous' ? undefined : before[other],
            [pin]: isPinned ? undefined : id,
          }),
        })
      }
      className={`${isSmall ? 'size-6' : 'size-7'} cursor-pointer rounded-md border border-line bg-paper text-xs font-medium text-dim hover:border-line-strong aria-pressed:border-accent aria-pressed:bg-accent aria-pressed:text-on-accent`}
    >
      {PIN_NAMES[pin]}
    </button>
  )
}
