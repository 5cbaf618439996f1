import { ArrowRight } from 'lucide-react'
import { useEffect } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { DiffList } from './diff-list.tsx'
import { PanelHeader, StatesLink, useStatesSearch } from './navigation.tsx'
import { type AuthoredVersion, useStateDiff, useStateVersion } from './states.ts'
import { chronological } from './version-text.ts'

/** The changes between two pinned versions. `from` may be `previous`: the version before `to`. */
export function Comparison({ from, to }: { from: string; to: string }) {
  const { workspace } = useOpenWorkspace()
  const [, setSearch] = useStatesSearch()
  const isPrevious = from === 'previous'
  const b = useStateVersion(to)
  const fromPrevious = useStateDiff(workspace.id, { from: undefined, to: isPrevious ? to : undefined })
  const a = useStateVersion(isPrevious ? undefined : from)
  const previous = fromPrevious.data?.relationships.from.data
  const failure = failureOf(a, b, fromPrevious)
  usePageTitle(`${workspace.attributes.name} · state comparison`)
  // Replaces `previous` in the URL, which also shows the pin.
  useEffect(() => {
    if (previous) setSearch({ from: previous.id })
  }, [setSearch, previous])

  if (failure)
    return (
      <div className="space-y-4">
        <PanelHeader title="Comparison" />
        <ErrorNote {...failure} />
      </div>
    )
  if (previous === null && b.data) return <FirstVersion only={b.data} />
  if (!a.data || !b.data) return <Skeleton rows={8} label="Comparing states" />
  return <Pair a={a.data} b={b.data} />
}

function Pair({ a, b }: { a: AuthoredVersion; b: AuthoredVersion }) {
  const { older, newer, isSwapped } = chronological(a.version, b.version)
  const [first, second] = isSwapped ? [b, a] : [a, b]
  const unreadable = [older, newer].filter(({ attributes }) => attributes.status !== 'finalized')
  return (
    <div className="space-y-4">
      <PanelHeader
        title="Comparison"
        meta={
          <span className="flex flex-wrap items-center gap-x-2">
            <VersionLink own={first} />
            <ArrowRight size={15} aria-label="to" />
            <VersionLink own={second} />
          </span>
        }
      />
      {isSwapped && <p className="text-dim">A is newer: the changes are shown from the older to the newer version.</p>}
      {unreadable.length === 0 ? (
        <StateDiff from={older.id} to={newer.id} />
      ) : (
        <Notice tone="warn">
          Cannot compare these versions: serial {unreadable.map(({ attributes }) => attributes.serial).join(' and ')}{' '}
          has no data. Open it for details.
        </Notice>
      )}
    </div>
  )
}

function FirstVersion({ only }: { only: AuthoredVersion }) {
  return (
    <div className="space-y-4">
      <PanelHeader title="Comparison" meta={<VersionLink own={only} />} />
      <Notice>There is no earlier version with data: everything is new.</Notice>
      <StateDiff from={undefined} to={only.id} />
    </div>
  )
}

export function StateDiff({ from, to }: { from: string | undefined; to: string }) {
  const { workspace } = useOpenWorkspace()
  const diff = useStateDiff(workspace.id, { from, to })
  const failure = failureOf(diff)
  if (failure) return <ErrorNote {...failure} />
  if (!diff.data) return <Skeleton rows={6} label="Comparing states" />
  return <DiffList diff={diff.data.attributes} />
}

function VersionLink({ own: { id, version } }: { own: AuthoredVersion }) {
  return (
    <span className="text-dim">
      <StatesLink search={{ version: id }} className="numeric text-accent underline">
        serial {version.attributes.serial}
      </StatesLink>
      , <RelativeTime at={version.attributes['created-at']} />
    </span>
  )
}
