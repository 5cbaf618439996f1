import type { ReactNode } from 'react'

/** One side of a change. */
export type Side =
  | { kind: 'absent' }
  | { kind: 'unknown' }
  | { kind: 'sensitive' }
  /** JSON of the value; texts stand as they are, without quotes, when `isText`. */
  | { kind: 'value'; text: string; isText?: boolean }

export type AttributeChange = {
  /** The place in the resource: `tags.env`, `ingress[0].port`. */
  path: string
  before: Side
  after: Side
  /** The change makes the engine replace the resource. */
  forcesReplacement?: boolean
}

/** The attributes of a resource that change, old and new; narrow screens have them below each other. */
export function AttributeDiff({ label, changes }: { label: string; changes: readonly AttributeChange[] }) {
  return (
    <table className="w-full table-fixed border-collapse font-mono text-[0.9285rem]">
      <caption className="sr-only">{label}</caption>
      <thead className="sr-only">
        <tr>
          <th scope="col">Attribute</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ path, before, after, forcesReplacement }) => (
          <tr key={path} className="border-t border-line align-top first:border-0 max-sm:block">
            <th scope="row" className="w-[28%] px-3 py-1 text-left font-normal max-sm:block max-sm:w-auto">
              {path}
              {forcesReplacement && (
                <span className="ml-2 rounded bg-bad-soft px-1 font-sans text-xs text-bad">forces replacement</span>
              )}
            </th>
            <Value side={before} is="before" isSame={isSame(before, after)} />
            <Value side={after} is="after" isSame={isSame(before, after)} />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function isSame(before: Side, after: Side) {
  return before.kind === 'value' && after.kind === 'value' && before.text === after.text
}

const LOOKS = {
  before: { sign: '−', look: 'bg-bad-soft' },
  after: { sign: '+', look: 'bg-good-soft' },
} as const

function Value({ side, is, isSame: same }: { side: Side; is: 'before' | 'after'; isSame: boolean }) {
  const { sign, look } = LOOKS[is]
  const isShown = side.kind !== 'absent'
  return (
    <td className={`px-3 py-1 max-sm:block ${isShown ? (same ? '' : look) : 'max-sm:hidden'}`}>
      {isShown && (
        <div className="flex gap-2">
          <span aria-hidden="true" className="text-dim select-none">
            {same ? ' ' : sign}
          </span>
          <span className="min-w-0 whitespace-pre-wrap">{textOf(side)}</span>
        </div>
      )}
    </td>
  )
}

function textOf(side: Exclude<Side, { kind: 'absent' }>): ReactNode {
  if (side.kind === 'unknown') return <em className="font-sans text-dim">known after apply</em>
  if (side.kind === 'sensitive') return <em className="font-sans text-dim">sensitive</em>
  return side.text
}
