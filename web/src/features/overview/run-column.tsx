import { Link } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { TONE_TEXT, type Tone } from '../../components/status.tsx'
import type { ListedRun } from '../runs/list/runs-query.ts'
import { RunAuthorName } from '../runs/run-origin.tsx'
import { RunBadges, planCounts } from '../runs/run-status.tsx'
import { runTitle } from '../runs/run-text.ts'
import type { ColumnRuns } from './overview.ts'

/** One of the columns: the first runs of a kind, and the way to all of them. */
export function RunColumn<Row extends ListedRun>({
  organization,
  title,
  icon: Icon,
  tone,
  status,
  query,
  about,
  empty,
  renderRow,
}: RunColumnProps<Row>) {
  const id = useId()
  const failure = failureOf(query)
  const data = failure ? undefined : query.data
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col rounded-lg border border-line bg-paper">
      <header className="px-4 pt-3 pb-2">
        <div className="flex items-center gap-2">
          <Icon size={16} aria-hidden="true" className={`shrink-0 ${TONE_TEXT[tone]}`} />
          <h2 id={id} className="text-base font-medium">
            {title}
          </h2>
          {data !== undefined && data.rows.length > 0 && (
            <span className="numeric rounded-full bg-hover px-2 py-0.5 text-xs font-medium">{countText(data)}</span>
          )}
        </div>
        {about !== undefined && <div className="mt-0.5 text-dim">{about}</div>}
      </header>
      {failure && (
        <div className="px-4 pb-4">
          <ErrorNote {...failure} />
        </div>
      )}
      {data === undefined && !failure && (
        <div className="px-4 pb-3">
          <Skeleton rows={3} label={`Loading: ${title}`} />
        </div>
      )}
      {data?.rows.length === 0 && <p className="px-4 pb-4 text-dim">{empty}</p>}
      {data !== undefined && data.rows.length > 0 && (
        <ul aria-label={title} className="border-t border-line">
          {data.rows.map((row) => (
            <li key={row.id} className="relative border-b border-line last:border-0 hover:bg-hover">
              {renderRow(row)}
            </li>
          ))}
        </ul>
      )}
      {data?.hasMore === true && (
        <Link
          to="/app/$organization/runs"
          params={{ organization }}
          search={{ status }}
          className="border-t border-line px-4 py-2 text-accent hover:underline"
        >
          {data.total === undefined ? 'All that errored' : `All ${data.total.toLocaleString('en')}`}
        </Link>
      )}
    </section>
  )
}

type RunColumnProps<Row extends ListedRun> = {
  organization: string
  title: string
  icon: LucideIcon
  tone: Tone
  /** The filter of the page Runs that shows all. */
  status: string
  query: { data: ColumnRuns<Row> | undefined; error: Error | null; refetch: () => Promise<unknown> }
  /** A sentence below the title. */
  about?: ReactNode
  /** Text of the empty list. */
  empty: string
  renderRow: (row: Row) => ReactNode
}

function countText({ rows, total, hasMore }: ColumnRuns) {
  if (total !== undefined) return total.toLocaleString('en')
  return hasMore ? `${rows.length}+` : String(rows.length)
}

/**
 * A run in a column: its workspace, what it is about, and who started it; all of it leads to the run. `part` is what is open there.
 */
export function RunRow({ organization, run, part, tone, badge, marks, when, children }: RunRowProps) {
  const { id, attributes, author, plan, workspace = '' } = run
  return (
    <div className={`space-y-0.5 px-4 py-2.5 ${tone === 'bad' ? 'border-l-2 border-bad pl-[calc(1rem-2px)]' : ''}`}>
      <div className="flex items-start gap-2">
        <Link
          to="/app/$organization/workspaces/$workspace/runs/$run"
          params={{ organization, workspace, run: id }}
          search={part === undefined ? {} : { part }}
          className="min-w-0 flex-1 truncate font-medium after:absolute after:inset-0"
        >
          {workspace}
        </Link>
        {badge}
      </div>
      <p className="truncate text-dim" title={attributes.message}>
        {runTitle({ id, message: attributes.message })}
      </p>
      {children}
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-dim">
        {marks}
        <RunBadges run={attributes} />
        {plan && <PlanCounts counts={planCounts(plan)} />}
        <RunAuthorName run={attributes} author={author} />
        {when}
      </div>
    </div>
  )
}

type RunRowProps = {
  organization: string
  run: ListedRun
  part?: 'log'
  tone?: 'bad' | undefined
  /** At the end of the first line. */
  badge?: ReactNode
  /** Before what else is special about the run. */
  marks?: ReactNode
  when: ReactNode
  children?: ReactNode
}
