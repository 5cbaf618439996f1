import { type ReactNode, useState } from 'react'
import { counted } from './numbers.ts'
import { WrappedName } from './wrapped-name.tsx'

export type Side =
  | { kind: 'absent' }
  | { kind: 'unknown' }
  | { kind: 'sensitive' }
  /** JSON of the value; the plain string without quotes when `isText`. */
  | { kind: 'value'; text: string; isText?: boolean }

export type AttributeChange = {
  /** Path in the resource, such as `tags.env` or `ingress[0].port`. */
  path: string
  before: Side
  after: Side
  /** The change makes the engine replace the resource. */
  forcesReplacement?: boolean
  /** New index of an item that only moved within its list: `[2]`. */
  movedTo?: string
  /** The texts are JSON with the same content but another format. */
  isFormattingOnly?: boolean
  lines?: readonly LineChange[]
}

type LineChange = { sign: '+' | '−' | ' '; text: string }

type AttributeDiffProps = { label: string; changes: readonly AttributeChange[]; unknownText?: string }

export function AttributeDiff({ label, changes, unknownText = 'known after apply' }: AttributeDiffProps) {
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
        {changes.map(({ path, before, after, forcesReplacement, movedTo, isFormattingOnly, lines }) => (
          // An index may occur twice: one item moves away from it, another is added.
          <tr key={`${path} ${movedTo ?? ''}`} className="border-t border-line align-top first:border-0 max-sm:block">
            <th scope="row" className="w-[28%] px-3 py-1 text-left font-normal max-sm:block max-sm:w-auto">
              <WrappedName text={path} />{' '}
              {movedTo !== undefined && <span className="ml-1 font-sans text-xs text-dim">moves to {movedTo}</span>}
              {isFormattingOnly && <span className="ml-1 font-sans text-xs text-dim">formatting only</span>}
              {forcesReplacement && (
                <span className="ml-1 rounded bg-bad-soft px-1 font-sans text-xs whitespace-nowrap text-bad">
                  forces replacement
                </span>
              )}
            </th>
            {lines || movedTo !== undefined ? (
              <td colSpan={2} className="px-3 py-1 max-sm:block">
                {lines ? (
                  <LineDiff lines={lines} />
                ) : (
                  after.kind !== 'absent' && (
                    <span className="ml-[2ch] whitespace-pre-wrap">{textOf(after, unknownText)}</span>
                  )
                )}
              </td>
            ) : (
              <>
                <Value side={before} is="before" isSame={areEqual(before, after)} unknownText={unknownText} />
                <Value side={after} is="after" isSame={areEqual(before, after)} unknownText={unknownText} />
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function areEqual(before: Side, after: Side) {
  return before.kind === 'value' && after.kind === 'value' && before.text === after.text
}

const STYLES = { before: { sign: '−', look: 'bg-bad-soft' }, after: { sign: '+', look: 'bg-good-soft' } } as const

type ValueProps = { side: Side; is: 'before' | 'after'; isSame: boolean; unknownText: string }

function Value({ side, is, isSame, unknownText }: ValueProps) {
  const { sign, look } = STYLES[is]
  const isShown = side.kind !== 'absent'
  return (
    <td className={`px-3 py-1 max-sm:block ${isShown ? (isSame ? '' : look) : 'max-sm:hidden'}`}>
      {isShown && <SignedText sign={isSame ? ' ' : sign}>{textOf(side, unknownText)}</SignedText>}
    </td>
  )
}

type SignedTextProps = { sign: string; className?: string; children: ReactNode }

function SignedText({ sign, className = '', children }: SignedTextProps) {
  return (
    <div className={`flex gap-2 ${className}`}>
      <span aria-hidden="true" className="text-dim select-none">
        {sign}
      </span>
      <span className="min-w-0 whitespace-pre-wrap">{children}</span>
    </div>
  )
}

/** Longer values are truncated until the user expands them. */
const MAX_LENGTH = 4000

function textOf(side: Exclude<Side, { kind: 'absent' }>, unknownText: string): ReactNode {
  if (side.kind === 'unknown') return <em className="font-sans text-dim">{unknownText}</em>
  if (side.kind === 'sensitive') return <em className="font-sans text-dim">sensitive</em>
  if (side.isText && side.text === '') return '""'
  return side.text.length > MAX_LENGTH ? <LongText text={side.text} /> : side.text
}

function LongText({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false)
  if (isWhole) return text
  return (
    <>
      {text.slice(0, MAX_LENGTH)}…{' '}
      <button type="button" className="cursor-pointer font-sans text-accent underline" onClick={() => setIsWhole(true)}>
        show all {text.length.toLocaleString('en')} characters
      </button>
    </>
  )
}

const LINE_STYLE = { '+': 'bg-good-soft', '−': 'bg-bad-soft', ' ': '' } as const
/** Number of unchanged lines shown before and after a change. */
const CONTEXT = 3

function LineDiff({ lines }: { lines: readonly LineChange[] }) {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' ')
  return lines.map(({ sign, text }, index) => {
    if (isNear(index))
      return (
        // oxlint-disable-next-line react/no-array-index-key -- lines have nothing else
        <SignedText key={index} sign={sign} className={LINE_STYLE[sign]}>
          {sign !== ' ' && <span className="sr-only">{sign === '+' ? 'new: ' : 'old: '}</span>}
          {text}
        </SignedText>
      )
    if (index > 0 && !isNear(index - 1)) return null
    const next = lines.findIndex((_, other) => other > index && isNear(other))
    const hidden = (next === -1 ? lines.length : next) - index
    return (
      // oxlint-disable-next-line react/no-array-index-key -- lines have nothing else
      <div key={index} className="font-sans text-xs text-dim">
        {counted(hidden, 'unchanged line')}
      </div>
    )
  })
}
