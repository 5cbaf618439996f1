/** A part of a line with one style; `className` is empty for plain text. */
export type Span = { text: string; className: string }

/** The indexes of the matching lines, and the number of matches in all of them; case-insensitive. */
export function searchLines(lines: readonly string[], query: string): { lines: number[]; count: number } {
  const matching: number[] = []
  let count = 0
  for (const [index, line] of query === '' ? [] : lines.entries()) {
    const matches = matchOffsets(line, query).length
    if (matches > 0) matching.push(index)
    count += matches
  }
  return { lines: matching, count }
}

function matchOffsets(line: string, query: string) {
  const [lowerLine, lowerQuery] = [line.toLowerCase(), query.toLowerCase()]
  const offsets: number[] = []
  if (query === '') return offsets
  for (let at = lowerLine.indexOf(lowerQuery); at !== -1; at = lowerLine.indexOf(lowerQuery, at + lowerQuery.length))
    offsets.push(at)
  return offsets
}

/** Splits the spans of a line at the boundaries of the matches; `at` is the offset in the line. */
export function markedSpans(spans: readonly Span[], query: string): (Span & { at: number; isMarked: boolean })[] {
  const line = spans.map((span) => span.text).join('')
  // Offsets are wrong in a line whose lower case has another length.
  const starts = line.toLowerCase().length === line.length ? matchOffsets(line, query) : []
  const length = query.toLowerCase().length
  const cuts = starts.flatMap((start) => [start, start + length])
  let offset = 0
  return spans.flatMap((span) => {
    const from = offset
    offset += span.text.length
    const inside = cuts.filter((cut) => cut > from && cut < offset)
    return [from, ...inside].map((begin, index) => ({
      at: begin,
      className: span.className,
      text: span.text.slice(begin - from, (inside[index] ?? offset) - from),
      isMarked: starts.some((start) => begin >= start && begin < start + length),
    }))
  })
}

export function MarkedText({ spans, query, mark }: { spans: readonly Span[]; query: string; mark: string }) {
  return markedSpans(spans, query).map(({ text, className, isMarked, at }) => {
    if (!isMarked && className === '') return text
    const Tag = isMarked ? 'mark' : 'span'
    return (
      <Tag key={at} className={isMarked ? mark : className}>
        {text}
      </Tag>
    )
  })
}
