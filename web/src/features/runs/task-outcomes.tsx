import { CircleX, ExternalLink, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Badge, type Tone } from '../../components/status.tsx'
import { isWebAddress } from '../../components/web-address.ts'
import { type TaskOutcome, useOutcomeBody, useTaskOutcomes } from './tasks.ts'

const MarkdownText = lazy(async () => import('../../components/markdown.tsx'))

type TagGroup = TaskOutcome['attributes']['tags'][number]
type Level = TagGroup['value'][number]['level']

/** What a receiver has found in detail. */
export function TaskOutcomes({ resultId }: { resultId: string }) {
  const outcomes = useTaskOutcomes(resultId)
  const failure = failureOf(outcomes)
  const { data } = outcomes
  if (failure) return <ErrorNote {...failure} />
  return data ? (
    <OutcomeList outcomes={data.data} total={data.meta.pagination['total-count']} />
  ) : (
    <Skeleton rows={2} label="Loading the outcomes" />
  )
}

export function OutcomeList({ outcomes, total }: { outcomes: readonly TaskOutcome[]; total: number }) {
  return (
    <>
      <ul aria-label="Outcomes" className="mt-2 divide-y divide-line rounded-md border border-line">
        {outcomes.map((outcome) => (
          <Outcome key={outcome.id} outcome={outcome} />
        ))}
      </ul>
      {total > outcomes.length && (
        <p className="mt-2 text-dim">
          The first {outcomes.length} of {total}.
        </p>
      )}
    </>
  )
}

function Outcome({ outcome }: { outcome: TaskOutcome }) {
  const { attributes } = outcome
  const [isOpen, setIsOpen] = useState(false)
  const id = attributes['outcome-id']
  return (
    <li className="px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {attributes.tags
          .toSorted((a, b) => Number(isSpecial(b)) - Number(isSpecial(a)))
          .map((group) => (
            <Tags key={group.label} group={group} />
          ))}
        <span className="min-w-0">{attributes.description}</span>
        <span className="font-mono text-xs text-dim">{id}</span>
        {attributes.url !== null && isWebAddress(attributes.url) && (
          <a
            href={attributes.url}
            target="_blank"
            rel="noreferrer noopener"
            className="inline-flex items-center gap-1 text-accent underline"
          >
            Details<span className="sr-only"> of {id}, in a new tab</span>
            <ExternalLink size={13} aria-hidden="true" />
          </a>
        )}
      </div>
      {attributes['has-body'] && (
        <details className="mt-1" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary className="text-dim">
            Full text<span className="sr-only"> of {id}</span>
          </summary>
          <div className="mt-2 border-l-2 border-line pl-3">
            <Body outcome={outcome} isOpen={isOpen} />
          </div>
        </details>
      )}
    </li>
  )
}

function Body({ outcome, isOpen }: { outcome: TaskOutcome; isOpen: boolean }) {
  const body = useOutcomeBody(outcome, isOpen)
  const failure = failureOf(body)
  const { data } = body
  if (failure) return <ErrorNote {...failure} />
  if (data === undefined) return isOpen ? <Skeleton rows={2} label="Loading the text" /> : null
  return (
    <Suspense fallback={<Skeleton rows={2} label="Loading the text" />}>
      <MarkdownText text={data} />
    </Suspense>
  )
}

/** Severity and status come first and need no name: their tags say what they are. */
function Tags({ group }: { group: TagGroup }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-1">
      <span className={isSpecial(group) ? 'sr-only' : 'text-dim'}>{group.label}:</span>
      {group.value.map(({ label, level }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a receiver may repeat a tag
        <Badge key={index} tone={LEVELS[level].tone} icon={LEVELS[level].icon}>
          {isSpecial(group) ? <strong>{label}</strong> : label}
        </Badge>
      ))}
    </span>
  )
}

/** Receivers spell the names of these groups in upper and lower case. */
function isSpecial({ label }: TagGroup) {
  return ['severity', 'status'].includes(label.toLowerCase())
}

const LEVELS = {
  none: { tone: 'quiet', icon: undefined },
  info: { tone: 'busy', icon: Info },
  warning: { tone: 'warn', icon: TriangleAlert },
  error: { tone: 'bad', icon: CircleX },
} as const satisfies Record<Level, { tone: Tone; icon: LucideIcon | undefined }>
