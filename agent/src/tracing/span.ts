export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** A part of a trace. */
export type Span = {
  traceId: string
  /** W3C Trace Context, for work elsewhere that belongs to this span. */
  traceparent: string
  set: (attributes: Attributes) => void
  /** Ends the span; with an error as failed. Only the type of an error is recorded, since messages may have values. */
  end: (error?: unknown) => void
}

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

export type SpanOptions = {
  kind?: SpanKind
  attributes?: Attributes
  /** The `traceparent` of the parent; by default it is the current span. Null starts a trace. */
  parent?: string | null | undefined
  /** The start as a Unix time in ms, if it was earlier. */
  startTime?: number
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** The parts of a `traceparent`; undefined if it is invalid. */
export function parseTraceparent(text: string | null | undefined) {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
