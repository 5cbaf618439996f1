import { useState } from 'react'
import { Button } from './button.tsx'

const MAX_CHARS = 300

/** The beginning of a text that is too long for a table row, and its number of lines; undefined for one that fits. */
export function shortened(text: string, maxLines: number) {
  const lines = text.split('\n')
  const start = lines.slice(0, maxLines).join('\n').slice(0, MAX_CHARS)
  return start.length === text.length ? undefined : { start, lines: lines.length }
}

/** A text in a fixed-width font, collapsed if it is long. */
export function CollapsedText({ text, maxLines }: { text: string; maxLines: number }) {
  const [isExpanded, setIsExpanded] = useState(false)
  const short = shortened(text, maxLines)
  const all = short && short.lines > 1 ? `Show all ${short.lines} lines` : 'Show all'
  return (
    <>
      <pre className="font-mono text-[0.9285em] whitespace-pre-wrap">
        {short && !isExpanded ? `${short.start}…` : text}
      </pre>
      {short && (
        <Button
          label={isExpanded ? 'Show less' : all}
          size="small"
          kind="quiet"
          className="-ml-2 text-accent"
          aria-expanded={isExpanded}
          onClick={() => setIsExpanded(!isExpanded)}
        />
      )}
    </>
  )
}
