import { setTimeout as delay } from 'node:timers/promises'
import { DiagLogLevel, ROOT_CONTEXT, SpanKind as Kind, SpanStatusCode, diag, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { withoutLogFields } from '../log-fields.ts'
import { type TracingSettings, readTracingSettings } from './settings.ts'
import { type Attributes, type Span, type SpanOptions, parseTraceparent } from './span.ts'

/** Maximum time of the last export at the end of the process, in ms. */
const SHUTDOWN_TIMEOUT_MS = 3000
/** Minimum interval of warnings about failed exports, in ms. */
const WARNING_INTERVAL_MS = 60_000

const KINDS = {
  internal: Kind.INTERNAL,
  server: Kind.SERVER,
  client: Kind.CLIENT,
  producer: Kind.PRODUCER,
  consumer: Kind.CONSUMER,
} as const

export type Exporter = ReturnType<typeof createExporter>

type Service = { name: string; version: string; warn: (fields: object, message: string) => void }

/** Sends spans to a collector in batches. Spans that cannot be sent are dropped: a collector never delays the work. */
export function createExporter(env: NodeJS.ProcessEnv, service: Service) {
  const settings = readTracingSettings(env, service.name)
  const report = warnOfFailures(service.warn)
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      ...settings.attributes,
      'service.name': settings.serviceName,
      'service.version': service.version,
    }),
    sampler: samplerOf(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: settings.protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter(),
      }),
    ],
  })
  const tracer = provider.getTracer(service.name, service.version)

  return {
    startSpan(name: string, { kind = 'internal', attributes = {}, parent, startTime }: SpanOptions): Span {
      const context = parseTraceparent(parent)
      const parentContext = context ? trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true }) : ROOT_CONTEXT
      const options = {
        kind: KINDS[kind],
        attributes: given(attributes),
        ...(startTime !== undefined && { startTime }),
      }
      const span = tracer.startSpan(name, options, parentContext)
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceId,
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        set: (more) => void span.setAttributes(given(more)),
        end(error) {
          if (error !== undefined) {
            span.setAttribute(
              'error.type',
              error instanceof Error ? error.name : typeof error === 'string' ? error : typeof error,
            )
            span.setStatus({ code: SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },
    async shutdown() {
      const timeout = delay(SHUTDOWN_TIMEOUT_MS, 'timeout' as const, { ref: false })
      const end = provider.shutdown().catch((error: unknown) => report('the last export failed:', error))
      if ((await Promise.race([end, timeout])) === 'timeout')
        report(`the last spans could not be sent within ${SHUTDOWN_TIMEOUT_MS / 1000} s`)
      diag.disable()
    },
  }
}

function given(attributes: Attributes) {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  )
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [, isParentBased, name] = /^(parentbased_)?(.+)$/.exec(sampler) ?? []
  const root =
    name === 'traceidratio'
      ? new TraceIdRatioBasedSampler(ratio)
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new AlwaysOnSampler()
  return isParentBased ? new ParentBasedSampler({ root }) : root
}

/** The message of an error, which the library reports as JSON with its stack. */
function messageOf(part: unknown) {
  if (part instanceof Error) return part.message
  const text = String(part)
  const [, message] = /"message":("(?:[^"\\]|\\.)*")/.exec(text.startsWith('{') ? text : '') ?? []
  return message === undefined ? text : String(JSON.parse(message))
}

/** The library reports failed exports to its own log only. */
function warnOfFailures(warn: Service['warn']) {
  let warnedAt = -WARNING_INTERVAL_MS
  const report = (message: string, ...details: unknown[]) => {
    if (performance.now() - warnedAt < WARNING_INTERVAL_MS) return
    warnedAt = performance.now()
    const reason = [message, ...details].map(messageOf).join(' ')
    // An export begins at the end of any span, whose request it does not belong to.
    withoutLogFields(() => warn({ reason: reason.slice(0, 300) }, 'traces could not be exported'))
  }
  const ignore = () => {}
  diag.setLogger({ error: report, warn: report, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
  return report
}
