import { CircleAlert, CircleX, TriangleAlert } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { counted } from '../../../components/numbers.ts'
import { Pane } from '../../../components/pane.tsx'
import { stopOf } from '../run-events.ts'
import type { PhaseName } from '../run-navigation.tsx'
import type { RunDocument } from '../run.ts'
import { type Diagnostic, errorsFirst, functionCall, highlighted, type Snippet } from './diagnostic.ts'
import { type LogView, type Phase, useLog } from './log-store.ts'
import type { LoggedDiagnostic } from './log-text.ts'

export type PhaseDiagnostic = LoggedDiagnostic & { phase: PhaseName }

/** The diagnostics in the logs of a run, errors first; updated while the logs are read. */
export function useDiagnostics(plan: Phase | undefined, apply: Phase | undefined): readonly PhaseDiagnostic[] {
  const planLog = useLog(plan)
  const applyLog = useLog(apply)
  return useMemo(() => {
    const diagnosticsOf = (view: LogView | undefined, phase: PhaseName) =>
      (view?.text.diagnostics() ?? []).map((diagnostic) => ({ ...diagnostic, phase }))
    // An apply repeats the warnings of its plan, and a plan may repeat a diagnostic for several instances.
    const all = errorsFirst([...diagnosticsOf(planLog, 'plan'), ...diagnosticsOf(applyLog, 'apply')])
    const groups = Map.groupBy(all, (diagnostic) => JSON.stringify({ ...diagnostic, line: 0, phase: '' }))
    return [...groups.values()].flatMap(([first]) => first ?? [])
    // The views are new objects whenever their logs have grown.
  }, [planLog, applyLog])
}

const SEVERITY_STYLE = {
  error: { label: 'Error', icon: CircleX, border: 'border-bad/40', tone: 'text-bad', mark: 'bg-bad-soft' },
  warning: { label: 'Warning', icon: TriangleAlert, border: 'border-warn/40', tone: 'text-warn', mark: 'bg-warn-soft' },
  unknown: { label: 'Note', icon: CircleAlert, border: 'border-line', tone: 'text-dim', mark: 'bg-hover' },
} as const

const MAX_COLLAPSED = 5
/** Longer details and excerpts are collapsed: a failed command may print thousands of lines. */
const MAX_LINES = 12
/** The lines of a collapsed detail: a command prints what it does first, and its error last. */
const FIRST_LINES = 3
const LAST_LINES = 8

/** The diagnostics of a run. After a cancellation they are folded, since the engine reports what was interrupted as errors. */
export function RunDiagnostics({ document, ...list }: { document: RunDocument } & DiagnosticsProps<PhaseDiagnostic>) {
  const stop = stopOf(document)
  if (!stop || list.diagnostics.length === 0) return <Diagnostics {...list} />
  return (
    <details className="rounded-lg border border-line bg-paper">
      <summary className="px-4 py-2.5">
        Interrupted by {stop.author}
        <span className="text-dim"> · {counted(list.diagnostics.length, 'diagnostic')}</span>
      </summary>
      <div className="px-4 pb-4">
        <Diagnostics {...list} />
      </div>
    </details>
  )
}

/** `linkOf` renders a link next to the summary. */
type DiagnosticsProps<D extends Diagnostic> = { diagnostics: readonly D[]; linkOf?: (diagnostic: D) => ReactNode }

export function Diagnostics<D extends Diagnostic>({ diagnostics, linkOf }: DiagnosticsProps<D>) {
  const [isExpanded, setIsExpanded] = useState(false)
  if (diagnostics.length === 0) return null
  const shown = errorsFirst(diagnostics).slice(0, isExpanded ? undefined : MAX_COLLAPSED)
  const hidden = diagnostics.length - shown.length
  return (
    <ul aria-label="Diagnostics" className="space-y-2">
      {shown.map((diagnostic) => (
        <li key={JSON.stringify(diagnostic)}>
          <DiagnosticCard diagnostic={diagnostic} link={linkOf?.(diagnostic)} />
        </li>
      ))}
      {hidden > 0 && (
        <li>
          <Button size="small" label={`Show ${hidden.toLocaleString('en')} more`} onClick={() => setIsExpanded(true)} />
        </li>
      )}
    </ul>
  )
}

function DiagnosticCard({ diagnostic, link }: { diagnostic: Diagnostic; link: ReactNode }) {
  const { severity, summary, detail, address, range, snippet } = diagnostic
  const { icon: Icon, border, tone, mark, label } = SEVERITY_STYLE[severity]
  return (
    <article aria-label={`${label}: ${summary}`} className={`rounded-lg border bg-paper px-4 py-3 ${border}`}>
      <div className="flex flex-wrap items-start gap-x-2 gap-y-1">
        <Icon size={16} className={`mt-0.5 shrink-0 ${tone}`} />
        <p className="min-w-0 flex-1 font-medium">
          <span className={tone}>{label}:</span> {summary}
        </p>
        {link}
      </div>
      {(address !== undefined || range) && (
        <p className="mt-1 text-dim">
          {range && (
            <>
              <code className="text-ink">{range.filename}</code> line{' '}
              <span className="numeric">{range.start.line}</span>
            </>
          )}
          {range && snippet?.context && [', in ', <code key="context">{snippet.context}</code>]}
          {range && address !== undefined && ' · '}
          {address !== undefined && <code>{address}</code>}
        </p>
      )}
      {snippet ? (
        <Source
          snippet={snippet}
          mark={`${mark} ${tone}`}
          label={`${range?.filename ?? 'source'} line ${range?.start.line ?? ''}`}
        />
      ) : (
        range && <p className="mt-2 text-dim">Source code not available</p>
      )}
      {detail ? <Detail text={detail.trimEnd()} /> : null}
    </article>
  )
}

function Detail({ text }: { text: string }) {
  const [isExpanded, setIsExpanded] = useState(false)
  const lines = text.split('\n')
  if (lines.length <= MAX_LINES) return <p className="mt-2 max-w-4xl whitespace-pre-wrap">{text}</p>
  return (
    <div className="mt-2">
      {isExpanded ? (
        <Pane label="Details" className="max-h-[60vh] whitespace-pre-wrap">
          {text}
        </Pane>
      ) : (
        <div className="max-w-4xl whitespace-pre-wrap">
          <p>{lines.slice(0, FIRST_LINES).join('\n')}</p>
          <p className="text-dim">… {counted(lines.length - FIRST_LINES - LAST_LINES, 'line')} …</p>
          <p>{lines.slice(-LAST_LINES).join('\n')}</p>
        </div>
      )}
      <Button
        size="small"
        kind="quiet"
        className="mt-1 -ml-2 text-accent"
        label={isExpanded ? 'Show less' : `Show all ${lines.length.toLocaleString('en')} lines`}
        aria-expanded={isExpanded}
        onClick={() => setIsExpanded(!isExpanded)}
      />
    </div>
  )
}

function Source({ snippet, mark, label }: { snippet: Snippet; mark: string; label: string }) {
  const { before, highlight, after } = highlighted(snippet)
  const lineCount = snippet.code.split('\n').length
  const values = snippet.values ?? []
  const call = functionCall(snippet)
  return (
    <div className="mt-2 overflow-hidden rounded-md border border-line bg-ground font-mono text-[0.9285rem]">
      <Pane label={label} className="flex max-h-72 py-1.5 leading-relaxed">
        <div aria-hidden="true" className="sticky left-0 shrink-0 bg-ground px-3 text-right text-dim select-none">
          {Array.from({ length: lineCount }, (_, index) => (
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
