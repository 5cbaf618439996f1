import { AsyncLocalStorage } from 'node:async_hooks'
import { withLogFields, withoutLogFields } from '../log-fields.ts'
import type { Exporter } from './exporter.ts'
import { isTracingConfigured } from './settings.ts'
import type { Span, SpanOptions } from './span.ts'

/*
 * Traces in the format of OpenTelemetry, configured by its standard variables. Without them nothing is loaded, and every function here does
 * nothing but call the work.
 */

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
