import { AsyncLocalStorage } from 'node:async_hooks'
import { withLogFields, withoutLogFields } from '../log-fields.ts'
import type { Exporter } from './exporter.ts'
import { isTracingConfigured } from './settings.ts'

/*
 * Traces in the format of OpenTelemetry, configured by its standard variables. Without them nothing is loaded, and every function here does
 * nothing but call the work.
 */

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
  /** The `traceparent` of the parent; by default it is the current span. */
  parent?: string | undefined
}

type Service = { name: string; version: string; warn: (fields: object, message: string) => void }

let exporter: Exporter | undefined
const current = new AsyncLocalStorage<Span>()

/** Starts tracing in this process if the variables of OpenTelemetry configure it. Dispose of the result to send the last spans. Throws for invalid variables. */
export async function startTracing(env: NodeJS.ProcessEnv, service: Service): Promise<AsyncDisposable> {
  if (!isTracingConfigured(env)) return { async [Symbol.asyncDispose]() {} }
  const { createExporter } = await import('./exporter.ts')
  const started = createExporter(env, service)
  exporter = started
  return {
    async [Symbol.asyncDispose]() {
      exporter = undefined
      await started.shutdown()
    },
  }
}

/** Starts a span that the caller ends; undefined without tracing. */
export function startSpan(name: string, { parent = traceparent(), ...options }: SpanOptions = {}): Span | undefined {
  return exporter?.startSpan(name, { ...options, parent })
}

/** Makes a span the parent of those of `work`, and its trace id a field of their log lines. */
export function inSpan<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : withLogFields({ trace: span.traceId }, () => current.run(span, work))
}

/** Runs work in a span, which ends with it. */
export async function traced<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options)
  if (span === undefined) return work(undefined)
  try {
    const result = await inSpan(span, async () => work(span))
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** Does work that belongs neither to the current span nor to its request, such as a loop that it starts. */
export function detached<T>(work: () => T): T {
  return withoutLogFields(() => current.exit(work))
}

/** W3C Trace Context of the current span; undefined without one. */
export function traceparent(): string | undefined {
  return current.getStore()?.traceparent
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** The parts of a `traceparent`; undefined if it is invalid. */
export function parseTraceparent(text: string | undefined) {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
