import { Badge, ErrorNote, Loading, type Tone } from '../../components/feedback.tsx'
import { type TaskOutcome, useTaskOutcomes } from './runs.ts'
import { isWebAddress } from './web-address.ts'

type TagGroup = TaskOutcome['attributes']['tags'][number]
type Level = TagGroup['value'][number]['level']

/** What a receiver has found in detail. */
export function TaskOutcomes({ resultId, changedAt }: { resultId: string; changedAt: string }) {
  const { data, error } = useTaskOutcomes(resultId, changedAt)
  if (error) return <ErrorNote error={error} />
  return data ? <OutcomeList outcomes={data.data} total={data.meta.pagination['total-count']} /> : <Loading />
}

export function OutcomeList({ outcomes, total }: { outcomes: readonly TaskOutcome[]; total: number }) {
  return (
    <>
      <ul className="mt-2 divide-y divide-slate-100 dark:divide-slate-800">
        {outcomes.map((outcome) => (
          <Outcome key={outcome.id} outcome={outcome} />
        ))}
      </ul>
      {total > outcomes.length && (
        <p className="mt-2 text-slate-500">
          The first {outcomes.length} of {total}.
        </p>
      )}
    </>
  )
}

function Outcome({ outcome: { attributes, links } }: { outcome: TaskOutcome }) {
  const { url, tags } = attributes
  const addresses = [
    { text: 'Details', href: url !== null && isWebAddress(url) ? url : undefined },
    { text: 'Full text', href: links.body },
  ]
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
      {tags
        .toSorted((a, b) => Number(isSpecial(b)) - Number(isSpecial(a)))
        .map((group) => (
          <Tags key={group.label} group={group} />
        ))}
      <span className="min-w-0">{attributes.description}</span>
      <span className="text-slate-500">{attributes['outcome-id']}</span>
      {addresses.map(
        ({ text, href }) =>
          href !== undefined && (
            <a
              key={text}
              href={href}
              target="_blank"
              rel="noreferrer noopener"
              className="text-indigo-700 underline dark:text-indigo-400"
            >
              {text}
              <span className="sr-only"> of {attributes['outcome-id']}, in a new tab</span>
            </a>
          ),
      )}
    </li>
  )
}

/** Severity and status come first and need no name: their tags say what they are. */
function Tags({ group }: { group: TagGroup }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-1">
      <span className={isSpecial(group) ? 'sr-only' : 'text-slate-500'}>{group.label}:</span>
      {group.value.map(({ label, level }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a receiver may repeat a tag
        <Badge key={index} tone={LEVELS[level].tone}>
          {LEVELS[level].icon !== '' && <span aria-hidden="true">{LEVELS[level].icon} </span>}
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
  none: { tone: 'quiet', icon: '' },
  info: { tone: 'busy', icon: 'ℹ' },
  warning: { tone: 'waiting', icon: '⚠' },
  error: { tone: 'bad', icon: '✕' },
} as const satisfies Record<Level, { tone: Tone; icon: string }>
