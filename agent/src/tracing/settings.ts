/** Whether the standard variables of OpenTelemetry ask for traces. */
export function isTracingConfigured(env: NodeJS.ProcessEnv) {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false
  const exporter = env['OTEL_TRACES_EXPORTER']?.trim()
  if (exporter !== undefined && exporter !== '') return exporter !== 'none'
  return Boolean(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'])
}

/** An invalid variable; the message names it and says what would be right. */
export class TracingError extends Error {
  override name = 'TracingError'
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type TracingSettings = {
  protocol: (typeof PROTOCOLS)[number]
  serviceName: string
  attributes: Record<string, string>
  sampler: (typeof SAMPLERS)[number]
  /** Share of the traces with `traceidratio`, from 0 to 1. */
  ratio: number
}

/** Reads the variables that the exporter does not read itself. Throws a `TracingError`. */
export function readTracingSettings(env: NodeJS.ProcessEnv, serviceName: string): TracingSettings {
  const exporter = env['OTEL_TRACES_EXPORTER']?.trim() || 'otlp'
  if (exporter !== 'otlp') throw new TracingError(`OTEL_TRACES_EXPORTER: it must be otlp or none, not ${exporter}`)
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    const value = env[name]
    if (value && !/^https?:\/\//.test(value))
      throw new TracingError(`${name}: it must be an address such as http://127.0.0.1:4318`)
  }
  const attributes = readAttributes(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '')
  const protocolName = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL']
    ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'
    : 'OTEL_EXPORTER_OTLP_PROTOCOL'
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1)
  if (!(ratio >= 0 && ratio <= 1)) throw new TracingError('OTEL_TRACES_SAMPLER_ARG: it must be a number from 0 to 1')
  return {
    protocol: oneOf(env, protocolName, PROTOCOLS, 'http/protobuf'),
    serviceName: env['OTEL_SERVICE_NAME'] || attributes['service.name'] || serviceName,
    attributes,
    sampler: oneOf(env, 'OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on'),
    ratio,
  }
}

function oneOf<Value extends string>(env: NodeJS.ProcessEnv, name: string, values: readonly Value[], fallback: Value) {
  const given = env[name]?.trim() || fallback
  const value = values.find((candidate) => candidate === given)
  if (value === undefined) throw new TracingError(`${name}: it must be ${values.join(', ')}, not ${given}`)
  return value
}

/** `key=value` pairs separated by commas, percent-encoded. */
function readAttributes(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
      try {
        if (key !== '') return [key, decodeURIComponent(value)]
      } catch {}
      throw new TracingError(`OTEL_RESOURCE_ATTRIBUTES: ${JSON.stringify(pair)} is not key=value, percent-encoded`)
    }),
  )
}
