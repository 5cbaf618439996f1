import type { Span } from './ansi.ts'

/** The lines that have the text, in their order, and how often all of them have it together. */
export function searchLines(lines: readonly string[], text: string): { lines: number[]; count: number } {
  const part = text.toLowerCase()
  const found: number[] = []
  let count = 0
  if (part === '') return { lines: found, count }
  for (const [index, line] of lines.entries()) {
    const times = occurrences(line.toLowerCase(), part).length
    if (times === 0) continue
    found.push(index)
    count += times
  }
  return { lines: found, count }
}

function occurrences(line: string, part: string) {
  const starts: number[] = []
  for (let at = line.indexOf(part); at !== -1; at = line.indexOf(part, at + part.length)) starts.push(at)
  return starts
}

/** A part of a line; `at` is where it begins. */
export type MarkedSpan = Span & { at: number; isMarked: boolean }

/** The spans of a line, cut where what is searched for begins and ends. */
export function markedSpans(spans: readonly Span[], text: string): MarkedSpan[] {
  const part = text.toLowerCase()
  const starts =
    part === ''
      ? []
      : occurrences(
          spans
            .map((span) => span.text)
            .join('')
            .toLowerCase(),
          part,
        )
  const cuts = starts.flatMap((start) => [start, start + part.length])
  let offset = 0
  return spans.flatMap((span) => {
    const from = offset
    offset += span.text.length
    const inside = cuts.filter((cut) => cut > from && cut < offset)
    return [from, ...inside].map((begin, index) => ({
      at: begin,
      className: span.className,
      text: span.text.slice(begin - from, (inside[index] ?? offset) - from),
      isMarked: starts.some((start) => begin >= start && begin < start + part.length),
    }))
  })
}
