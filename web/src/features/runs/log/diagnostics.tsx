import { CircleAlert, CircleX, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Pane } from '../../../components/pane.tsx'
import { calledAs, type Diagnostic, errorsFirst, highlighted, type Snippet } from './diagnostic.ts'

const LOOKS = {
  error: { icon: CircleX, border: 'border-bad/40', tone: 'text-bad', mark: 'bg-bad-soft text-bad', word: 'Error' },
  warning: {
    icon: TriangleAlert,
    border: 'border-warn/40',
    tone: 'text-warn',
    mark: 'bg-warn-soft text-warn',
    word: 'Warning',
  },
  unknown: { icon: CircleAlert, border: 'border-line', tone: 'text-dim', mark: 'bg-hover', word: 'Note' },
} as const

/** More are shown when the reader asks for them. */
const SHOWN = 5

/** What the engine says is wrong, a card each, errors first. `beside` adds something to a card, such as a link. */
export function Diagnostics<D extends Diagnostic>({
  diagnostics,
  beside,
}: {
  diagnostics: readonly D[]
  beside?: (diagnostic: D) => ReactNode
}) {
  const [isWhole, setIsWhole] = useState(false)
  const sorted = errorsFirst(diagnostics)
  if (sorted.length === 0) return null
  const shown = isWhole ? sorted : sorted.slice(0, SHOWN)
  const hidden = sorted.length - shown.length
  return (
    <ul aria-label="Diagnostics" className="space-y-2">
      {shown.map((diagnostic) => (
        <li key={JSON.stringify(diagnostic)}>
          <DiagnosticCard diagnostic={diagnostic} beside={beside?.(diagnostic)} />
        </li>
      ))}
      {hidden > 0 && (
        <li>
          <Button size="small" onClick={() => setIsWhole(true)}>
            Show {hidden.toLocaleString('en')} more
          </Button>
        </li>
      )}
    </ul>
  )
}

function DiagnosticCard({ diagnostic, beside }: { diagnostic: Diagnostic; beside: ReactNode }) {
  const { severity, summary, detail, address, range, snippet } = diagnostic
  const { icon: Icon, border, tone, mark, word } = LOOKS[severity]
  return (
    <article aria-label={`${word}: ${summary}`} className={`rounded-lg border bg-paper px-4 py-3 ${border}`}>
      <div className="flex flex-wrap items-start gap-x-2 gap-y-1">
        <Icon size={16} aria-hidden="true" className={`mt-0.5 shrink-0 ${tone}`} />
        <p className="min-w-0 flex-1 font-medium">
          <span className={tone}>{word}:</span> {summary}
        </p>
        {beside}
      </div>
      {(address !== undefined || range) && (
        <p className="mt-1 text-dim">
          {range && (
            <>
              <code className="text-ink">{range.filename}</code> line{' '}
              <span className="numeric">{range.start.line}</span>
              {snippet?.context && (
                <>
                  , in <code>{snippet.context}</code>
                </>
              )}
            </>
          )}
          {address !== undefined && (
            <>
              {range && ' · '}
              <code>{address}</code>
            </>
          )}
        </p>
      )}
      {snippet ? (
        <Excerpt
          snippet={snippet}
          mark={mark}
          label={`${range?.filename ?? 'source'} line ${range?.start.line ?? ''}`}
        />
      ) : (
        range && <p className="mt-2 text-dim">The source of this line is not available.</p>
      )}
      {detail ? <p className="mt-2 max-w-4xl whitespace-pre-wrap">{detail.trimEnd()}</p> : null}
    </article>
  )
}

/** The lines that a diagnostic is about, what of them is meant, and the values in them. */
function Excerpt({ snippet, mark, label }: { snippet: Snippet; mark: string; label: string }) {
  const { before, highlight, after } = highlighted(snippet)
  const count = snippet.code.split('\n').length
  const values = snippet.values ?? []
  const call = calledAs(snippet)
  return (
    <div className="mt-2 overflow-hidden rounded-md border border-line bg-ground font-mono text-[0.9285rem]">
      <Pane label={label} className="flex py-1.5 leading-relaxed">
        <div aria-hidden="true" className="sticky left-0 shrink-0 bg-ground px-3 text-right text-dim select-none">
          {Array.from({ length: count }, (_, index) => (
            <div key={index} className="numeric">
              {snippet.start_line + index}
            </div>
          ))}
        </div>
        <pre className="pr-3">
          {before}
          {highlight !== '' && <mark className={`rounded-sm underline underline-offset-4 ${mark}`}>{highlight}</mark>}
          {after}
        </pre>
      </Pane>
      {(values.length > 0 || call) && (
        <ul aria-label="Values" className="border-t border-line px-3 py-1.5">
          {call && (
            <li>
              while calling <b className="font-semibold">{call.name}</b>
              {call.parameters}
            </li>
          )}
          {values.map(({ traversal, statement }) => (
            <li key={traversal}>
              <b className="font-semibold">{traversal}</b> <span className="text-dim">{statement}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
