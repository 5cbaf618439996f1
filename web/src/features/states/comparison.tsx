import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { useEffect } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { DiffList } from './diff-list.tsx'
import { PartHeader } from './part-header.tsx'
import { type AuthoredVersion, useStateDiff, useStateVersion } from './states.ts'
import { inOrder } from './version-words.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** What changed between the two pinned versions, the older one first. `from` may be `previous`: the version before. */
export function Comparison({ from, to }: { from: string; to: string }) {
  const { workspace } = useOpenWorkspace()
  const b = useStateVersion(to)
  const before = useStateDiff(workspace.id, { from: undefined, to: from === 'previous' ? to : undefined })
  const a = useStateVersion(from === 'previous' ? undefined : from)
  const previous = before.data?.relationships.from.data
  const isFirst = previous === null
  const failure = failureOf(a, b, before)
  usePageTitle(`${workspace.attributes.name} · changes of the state`)
  // The address and the pins name the version before once it is known.
  const navigate = route.useNavigate()
  useEffect(() => {
    if (previous) void navigate({ search: (own) => ({ ...own, from: previous.id }), replace: true, resetScroll: false })
  }, [navigate, previous])

  if (failure)
    return (
      <div className="space-y-4">
        <PartHeader title="What changed" />
        <ErrorNote {...failure} />
      </div>
    )
  if (isFirst && b.data) return <FirstVersion only={b.data} />
  if (!a.data || !b.data) return <Skeleton rows={8} label="Comparing the states" />
  return <Pair a={a.data} b={b.data} />
}

function Pair({ a, b }: { a: AuthoredVersion; b: AuthoredVersion }) {
  const { older, newer, isSwapped } = inOrder(a.version, b.version)
  const [first, second] = isSwapped ? [b, a] : [a, b]
  const unreadable = [older, newer].filter(({ attributes }) => attributes.status !== 'finalized')
  return (
    <div className="space-y-4">
      <PartHeader
        title="What changed"
        beside={
          <span className="flex flex-wrap items-center gap-x-2">
            <VersionLink own={first} />
            <ArrowRight size={15} aria-label="to" />
            <VersionLink own={second} />
          </span>
        }
      />
      {isSwapped && <p className="text-dim">A is the newer one: the changes are shown from the older to the newer.</p>}
      {unreadable.length === 0 ? (
        <DiffBetween from={older.id} to={newer.id} />
      ) : (
        <Notice tone="warn">
          These two can’t be compared: there is no content of serial{' '}
          {unreadable.map(({ attributes }) => attributes.serial).join(' and ')}. Open it to see why.
        </Notice>
      )}
    </div>
  )
}

function FirstVersion({ only }: { only: AuthoredVersion }) {
  return (
    <div className="space-y-4">
      <PartHeader title="What changed" beside={<VersionLink own={only} />} />
      <Notice>There is no readable state before this one: all that it has is new.</Notice>
      <DiffBetween from={undefined} to={only.id} />
    </div>
  )
}

/** The changes between two versions, with what is shown while they are computed. */
export function DiffBetween({ from, to }: { from: string | undefined; to: string }) {
  const { workspace } = useOpenWorkspace()
  const diff = useStateDiff(workspace.id, { from, to })
  const failure = failureOf(diff)
  if (failure) return <ErrorNote {...failure} />
  if (!diff.data) return <Skeleton rows={6} label="Comparing the states" />
  return <DiffList diff={diff.data.attributes} />
}

function VersionLink({ own: { id, version } }: { own: AuthoredVersion }) {
  const params = route.useParams()
  return (
    <span className="text-dim">
      <Link
        to="/app/$organization/workspaces/$workspace/states"
        params={params}
        search={({ page }) => ({ page, version: id })}
        className="numeric text-accent underline"
      >
        serial {version.attributes.serial}
      </Link>
      , <RelativeTime at={version.attributes['created-at']} />
    </span>
  )
}
