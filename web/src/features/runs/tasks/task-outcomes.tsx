import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskResultOutcomeSchema } from '@groundstate/contract/task-results'
import { useQuery } from '@tanstack/react-query'
import { CircleX, ExternalLink, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { ApiError, apiPath, get } from '../../../api/client.ts'
import { loaded } from '../../../components/feedback.tsx'
import { Badge, type Tone } from '../../../components/status.tsx'
import { isWebAddress } from '../../../components/web-address.ts'

const MarkdownText = lazy(async () => import('../../../components/markdown.tsx'))

export type TaskOutcome = Pick<Wire<typeof taskResultOutcomeSchema>, 'id' | 'attributes' | 'links'>
type TagGroup = TaskOutcome['attributes']['tags'][number]

/** The first 100 outcomes of a task result. */
export function TaskOutcomes({ resultId }: { resultId: string }) {
  const query = useQuery({
    queryKey: ['task-results', resultId, 'outcomes'],
    queryFn: async () =>
      get<PageOnWire<typeof taskResultOutcomeSchema>>(`/task-results/${resultId}/outcomes?page[size]=100`),
  })
  const { data, fallback } = loaded(query, { rows: 2, label: 'Loading outcomes' })
  if (!data) return fallback
  return <OutcomeList outcomes={data.data} total={data.meta.pagination['total-count']} />
}

export function OutcomeList({ outcomes, total }: { outcomes: readonly TaskOutcome[]; total: number }) {
  return (
    <>
      <ul aria-label="Outcomes" className="mt-2 divide-y divide-line rounded-md border border-line">
        {outcomes.map((outcome) => (
          <Outcome key={outcome.id} outcome={outcome} />
        ))}
      </ul>
      {total > outcomes.length && <p className="mt-2 text-dim">{`Showing ${outcomes.length} of ${total}`}</p>}
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
          .toSorted((a, b) => Number(isProminent(b)) - Number(isProminent(a)))
          .map((group) => (
            <Tags key={group.label} group={group} />
          ))}
        <span className="min-w-0">{attributes.description}</span>
        <span className="font-mono text-xs text-dim">{id}</span>
        <DetailsLink url={attributes.url} of={id} />
      </div>
      {attributes['has-body'] && (
        <details className="mt-1" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary className="text-dim">
            Full text<span className="sr-only"> of {id}</span>
          </summary>
          <div className="mt-2 border-l-2 border-line pl-3">{isOpen && <OutcomeBody outcome={outcome} />}</div>
        </details>
      )}
    </li>
  )
}

/** Link to a page of the run task's service; nothing unless the URL is HTTP or HTTPS. */
export function DetailsLink({ url, of }: { url: string | null; of: string }) {
  if (url === null || !isWebAddress(url)) return null
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer noopener"
      className="inline-flex items-center gap-1 text-accent underline"
    >
      Details<span className="sr-only"> of {of}, in a new tab</span>
      <ExternalLink size={13} />
    </a>
  )
}

/** The Markdown body of an outcome, up to several MB; loaded when the user expands it. */
function OutcomeBody({ outcome }: { outcome: TaskOutcome }) {
  const query = useQuery({
    queryKey: ['task-result-outcomes', outcome.id, 'body'],
    enabled: outcome.links.body !== undefined,
    // Change events name the task result, not its outcomes.
    meta: { alsoAbout: ['task-results'] },
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch(apiPath(`/task-result-outcomes/${outcome.id}/body`), { signal })
      if (!response.ok) throw new ApiError(response.status, [])
      return response.text()
    },
  })
  const { data, fallback } = loaded(query, { rows: 2, label: 'Loading the full text' })
  if (data === undefined) return fallback
  return (
    <Suspense fallback={fallback}>
      <MarkdownText text={data} />
    </Suspense>
  )
}

function Tags({ group }: { group: TagGroup }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-1">
      <span className={isProminent(group) ? 'sr-only' : 'text-dim'}>{group.label}:</span>
      {group.value.map(({ label, level }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a run task may repeat a tag
        <Badge key={index} tone={LEVELS[level].tone} icon={LEVELS[level].icon}>
          {isProminent(group) ? <strong>{label}</strong> : label}
        </Badge>
      ))}
    </span>
  )
}

/** Severity and status come first and need no visible label. Run tasks vary in the case of these names. */
function isProminent({ label }: TagGroup) {
  return ['severity', 'status'].includes(label.toLowerCase())
}

const LEVELS = {
  none: { tone: 'quiet', icon: undefined },
  info: { tone: 'busy', icon: Info },
  warning: { tone: 'warn', icon: TriangleAlert },
  error: { tone: 'bad', icon: CircleX },
} as const satisfies Record<TagGroup['value'][number]['level'], { tone: Tone; icon: LucideIcon | undefined }>
