import { traceparent } from '@groundstate/agent/tracing/tracing'
import type { RunRow } from './locked-run-store.ts'

/** The trace of a run is kept with its timestamps, since few runs have one. */
export const TRACE_FIELD = 'traceparent'

/** The trace of the request that creates a run, for its row. */
export function traceField(): Record<string, string> {
  const parent = traceparent()
  return parent === undefined ? {} : { [TRACE_FIELD]: parent }
}

/** W3C Trace Context of the request that created a run; undefined if it was not traced. */
export function traceOf({ status_timestamps }: Pick<RunRow, 'status_timestamps'>): string | undefined {
  return (status_timestamps as Record<string, string>)[TRACE_FIELD]
}
