import { getRouteApi, Link } from '@tanstack/react-router'
import { byteSize } from '../../components/numbers.ts'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunAuthorName } from '../runs/run-origin.tsx'
import { runTitle } from '../runs/run-title.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { countChange, countLine, type Counts } from './count-line.ts'
import type { AuthoredVersion } from './states.ts'
import { marksOf } from './version-words.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** One version in the timeline: its pins, what it is, who made it, and how many resources it has. */
export function TimelineRow({
  row: { id, version, run, author },
  rows,
  counts,
  most,
  isBeside,
}: {
  row: AuthoredVersion
  rows: readonly AuthoredVersion[]
  counts: Counts
  most: number
  isBeside: boolean
}) {
  const { organization, workspace } = useOpenWorkspace()
  const { version: openId } = route.useSearch()
  const { serial, size, 'created-at': at } = version.attributes
  const copied = version.relationships['rollback-state-version']?.data?.id
  const original = rows.find((row) => row.id === copied)
  const change = countChange(counts)
  return (
    <li
      className={`relative flex items-center px-3 hover:bg-hover ${isBeside ? 'gap-x-2' : 'gap-x-3'} ${id === openId ? 'bg-accent-soft' : ''}`}
    >
      <div className="flex gap-1 py-2">
        <Pin id={id} serial={serial} pin="from" isSmall={isBeside} />
        <Pin id={id} serial={serial} pin="to" isSmall={isBeside} />
      </div>
      <div className="min-w-0 flex-1 py-2">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            to="/app/$organization/workspaces/$workspace/states"
            params={{ organization, workspace: workspace.attributes.name }}
            search={(before) => ({ page: before.page, version: id })}
            resetScroll={false}
            aria-current={id === openId || undefined}
            className="numeric font-medium hover:underline"
          >
            Serial {serial}
          </Link>
          {marksOf(version, workspace.relationships['current-state-version'].data?.id).map(
            ({ text, tone, icon, title }) => (
              <Badge key={text} tone={tone} icon={icon} title={title}>
                {text === 'rollback' && original ? `copy of serial ${original.version.attributes.serial}` : text}
              </Badge>
            ),
          )}
        </div>
        <div className={`flex items-center gap-x-1.5 text-dim ${isBeside ? '' : 'flex-wrap'}`}>
          <RunAuthorName run={run?.attributes ?? NO_RUN} author={author} />
          {run && (
            <span className={isBeside ? 'hidden' : 'max-w-80 min-w-0 truncate'}>
              in{' '}
              <Link
                to="/app/$organization/workspaces/$workspace/runs/$run"
                params={{ organization, workspace: workspace.attributes.name, run: run.id }}
                className="text-accent underline"
              >
                {runTitle({ id: run.id, message: run.attributes.message })}
              </Link>
            </span>
          )}
          <span aria-hidden="true">·</span>
          <RelativeTime at={at} />
        </div>
      </div>
      <span className={`numeric w-20 text-right text-dim ${isBeside ? 'hidden' : 'max-md:hidden'}`}>
        {size > 0 && byteSize(size)}
      </span>
      <span className={`numeric text-right ${isBeside ? 'min-w-8' : 'min-w-9 sm:w-32'}`}>
        {counts.own !== undefined && (
          <>
            {counts.own.toLocaleString('en')}
            <span className={isBeside ? 'sr-only' : 'max-sm:sr-only'}>
              {counts.own === 1 ? ' resource' : ' resources'}
            </span>
          </>
        )}
      </span>
      <span className={`numeric w-10 text-dim ${isBeside ? 'hidden' : 'max-sm:hidden'}`}>{change}</span>
      <div className={`shrink-0 self-stretch ${isBeside ? 'w-9' : 'w-12 sm:w-16'}`}>
        <CountLine points={countLine(counts, most)} />
      </div>
    </li>
  )
}

/** A state that no run made came from a token or a person. */
const NO_RUN = { source: 'tfe-api' } as const

/** The row's part of the line of counts; the number beside it says the same. */
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

const NAMES = { from: 'A', to: 'B' } as const

/** One of the two ends of a comparison. */
function Pin({ id, serial, pin, isSmall }: { id: string; serial: number; pin: 'from' | 'to'; isSmall: boolean }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const isPinned = search[pin] === id
  const other = pin === 'from' ? 'to' : 'from'
  return (
    <button
      type="button"
      aria-pressed={isPinned}
      aria-label={`Pin serial ${serial} as ${NAMES[pin]}`}
      onClick={() =>
        void navigate({
          resetScroll: false,
          search: (before) => ({
            page: before.page,
            // A state is not compared with itself.
            [other]: before[other] === id || before[other] === 'previous' ? undefined : before[other],
            [pin]: isPinned ? undefined : id,
          }),
        })
      }
      className={`${isSmall ? 'size-6' : 'size-7'} cursor-pointer rounded-md border border-line bg-paper text-xs font-medium text-dim hover:border-line-strong aria-pressed:border-accent aria-pressed:bg-accent aria-pressed:text-on-accent`}
    >
      {NAMES[pin]}
    </button>
  )
}
