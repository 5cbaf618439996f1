import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_SETTINGS, readAgentSettings } from '@groundstate/agent/settings/agent-settings'
import { type Setting, variablesOf } from '@groundstate/agent/settings/setting'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { settingNames } from '../scripts/write-settings.ts'
import { readConfig } from '../server/src/config.ts'
import { SETTINGS } from '../server/src/settings.ts'
import { CANARY, combinations } from './chart-values.ts'
import {
  CHART,
  findTool,
  lintChart,
  renderCases,
  renderChart,
  type Resource,
  resourcesIn,
  run,
  temporaryFile,
  type Values,
} from './helm.ts'

const helm = findTool('helm') ?? ''
const kubeconform = findTool('kubeconform') ?? ''
if (helm === '') console.warn('SKIPPED: helm is not installed, so the chart is not tested')
if (kubeconform === '') console.warn('SKIPPED: kubeconform is not installed, so the chart is not checked by schemas')

const SCHEMAS = join(CHART, 'testing/schemas/{{.ResourceKind}}.json')
const SERVER = { baseUrl: 'https://groundstate.example.com', secrets: { existingSecret: 'groundstate' } }
const REPLICATED = { ...SERVER, mode: 'replicated', s3: { bucket: 'states' } }

describe.skipIf(helm === '')('the chart', async () => {
  const cases = combinations()
  const { text, resources } = helm === '' ? { text: '', resources: new Map() } : await renderCases(helm, cases)
  const all: Resource[] = [...resources.values()].flat()
  const pods = all.flatMap((resource) => podOf(resource) ?? [])

  test.skipIf(kubeconform === '')('each combination of values is valid for Kubernetes', async () => {
    await using file = await temporaryFile(text)
    const check = await run(kubeconform, ['-strict', '-summary', '-schema-location', SCHEMAS, file.path])

    expect(cases.size).toBeGreaterThan(300)
    expect(check).toMatchObject({ code: 0, stderr: '' })
    expect(check.stdout).toContain(`${all.length} resources found in 1 file - Valid: ${all.length}, Invalid: 0`)
  })

  test.skipIf(kubeconform === '')('the schemas reject unknown properties', async () => {
    await using file = await temporaryFile(text.replaceAll('enableServiceLinks:', 'enableServiceLink:'))
    const check = await run(kubeconform, ['-strict', '-schema-location', SCHEMAS, file.path])

    expect(check.code).toBe(1)
    expect(check.stdout).toContain("additional properties 'enableServiceLink' not allowed")
  })

  test('secrets are in Secrets only', () => {
    const others = all.filter(({ kind }) => kind !== 'Secret')

    expect(JSON.stringify(all)).toContain(CANARY)
    expect(others.filter((resource) => JSON.stringify(resource).includes(CANARY))).toEqual([])
  })

  test('settings that are secrets are refused in plain values, and no others', async () => {
    const template = await readFile(join(CHART, 'templates/_checks.tpl'), 'utf8')
    const pattern = new RegExp(/regexMatch "(.+?)" \$name/.exec(template)?.[1] ?? '')
    const settings = Object.entries<Setting>({ ...SETTINGS, ...AGENT_SETTINGS })
    const variables = (isSecret: boolean) =>
      settings
        .filter(([, { secret = false }]) => secret === isSecret)
        .flatMap(([name, setting]) => variablesOf(name, setting))

    expect(variables(true).filter((name) => !pattern.test(name))).toEqual([])
    expect(variables(false).filter((name) => pattern.test(name))).toEqual([])
    expect(pattern.test('OTEL_EXPORTER_OTLP_HEADERS')).toBe(true)
  })

  test('no pod can gain privileges, write to its image or use the API of Kubernetes', () => {
    for (const { spec } of pods) {
      expect(spec).toMatchObject({
        // Variables of a Service named groundstate, such as GROUNDSTATE_PORT, would be settings.
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of spec.containers) {
        expect(container.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        })
        expect(container.resources.limits.memory).toMatch(/Gi$/)
      }
    }
    const withToken = pods.filter(({ spec }) => spec.automountServiceAccountToken)
    expect(withToken.every(({ spec }) => spec.containers[0].name === 'agent')).toBe(true)
  })

  test('each mount of a pod has its volume', () => {
    for (const resource of all) {
      const { spec } = podOf(resource) ?? { spec: undefined }
      if (!spec) continue
      const claims = (resource.spec.volumeClaimTemplates ?? []).map((claim: Resource) => claim.metadata.name)
      const volumes = new Set([...spec.volumes.map(({ name }: { name: string }) => name), ...claims])
      const mounts = new Set(spec.containers[0].volumeMounts.map(({ name }: { name: string }) => name))
      expect(volumes).toEqual(mounts)
    }
  })

  const podsOf = (name: string) => pods.filter(({ spec }) => spec.containers[0].name === name)

  test('servers accept their environment and have time to drain', () => {
    for (const { spec } of podsOf('server')) {
      const config = readConfig({ GROUNDSTATE_SECRET: 'ab'.repeat(32), ...environmentOf(spec.containers[0]) })

      expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(config.drainTimeout + 30_000)
    }
  })

  test('agents accept their environment and have time to drain', () => {
    let probed = 0
    for (const { spec } of podsOf('agent')) {
      const { GROUNDSTATE_AGENT_TOKEN_FILE: file, ...env } = environmentOf(spec.containers[0])
      const others = { ...env, GROUNDSTATE_AGENT_CA_FILE: undefined, GROUNDSTATE_AGENT_TOKEN: 'token' }

      expect(file).toBe('/run/groundstate/token/token')
      const [{ ports, livenessProbe, readinessProbe }] = spec.containers
      expect(readAgentSettings([], others)).toMatchObject({
        notes: [],
        settings: {
          drainSeconds: spec.terminationGracePeriodSeconds - 60,
          metricsAddress: { port: ports[0].containerPort },
        },
      })
      const probes = [livenessProbe, readinessProbe].filter((probe) => probe !== undefined)
      expect(probes.filter(({ httpGet }) => httpGet.port !== ports[0].name)).toEqual([])
      probed += probes.length
    }
    expect(probed).toBeGreaterThan(0)
  })

  test('by default no probe restarts an agent, which would interrupt its applies', async () => {
    const rendered = await renderedResources(SERVER, { agents: { rack: { tokenSecret: { name: 'pool' } } } })

    const containers = rendered.flatMap((resource) => podOf(resource)?.spec.containers[0] ?? [])
    const probes = containers.map(({ name, livenessProbe }) => [name, livenessProbe !== undefined])
    expect(Object.fromEntries(probes)).toEqual({ server: true, agent: false })
  })

  test('resources name others that exist, once', () => {
    for (const [name, group] of resources) {
      const ids = group.map(({ kind, metadata }: Resource) => `${kind} ${metadata.name}`)
      expect(new Set(ids).size).toBe(ids.length)
      const missing = group.flatMap(referencesOf).filter((id: string) => !ids.includes(id))
      const unmatched = group
        .map(selectorOf)
        .filter((labels: Record<string, string> | undefined) => labels && !group.some(hasPod(labels)))
      expect({ name, missing, unmatched }).toEqual({ name, missing: [], unmatched: [] })
    }
  })

  test('several servers are replaced one after the other and never all evicted', async () => {
    const rendered = await renderedResources(REPLICATED, { server: { replicas: 3 } })

    const deployment = rendered.find(({ kind }) => kind === 'Deployment')
    expect(deployment?.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
      template: { spec: { containers: [{ lifecycle: { preStop: {} }, readinessProbe: { periodSeconds: 2 } }] } },
    })
    expect(rendered.find(({ kind }) => kind === 'PodDisruptionBudget')?.spec.maxUnavailable).toBe(1)
  })

  test('without a digest the image has the version of this repository', async () => {
    const { version } = JSON.parse(await readFile(join(CHART, '../../server/package.json'), 'utf8'))

    const rendered = await renderedResources(SERVER)

    const images = rendered.flatMap((resource) => podOf(resource)?.spec.containers[0].image ?? [])
    expect(images).toEqual([`groundstate/groundstate:${version}`])
  })

  test('the values of the installation guide are valid', async () => {
    const guide = await readFile(join(CHART, '../../docs/INSTALL.md'), 'utf8')
    const blocks = [...guide.matchAll(/^```yaml\n([\s\S]+?)^```/gm)].map(([, block = '']) => parse(block) as Values)
    const values = blocks.filter((block) => 'agents' in block)

    const rendered = await Promise.all(values.map((block) => renderedResources(SERVER, block)))

    const kinds = rendered.map((group) => group.map(({ kind }) => kind))
    expect(kinds[0]).toEqual(expect.arrayContaining(['Deployment', 'HTTPRoute', 'NetworkPolicy', 'ServiceMonitor']))
    expect(kinds[1]).toContain('ScaledJob')
  })

  const agent = { tokenSecret: { name: 'pool' } }
  test('nothing but Prometheus reaches a worker', async () => {
    const networkPolicy = { enabled: true, ingressFrom: [{ namespaceSelector: {} }] }
    const values = { ...REPLICATED, worker: { enabled: true }, networkPolicy, agents: { rack: agent } }
    const ofWorker = ({ kind, metadata }: Resource) => kind === 'NetworkPolicy' && metadata.name.endsWith('-worker')

    const closed = (await renderedResources(values)).find(ofWorker)
    const scraped = (await renderedResources(values, { metrics: { serviceMonitor: { enabled: true } } })).find(ofWorker)

    expect(closed?.spec.ingress).toEqual([])
    expect(scraped?.spec.ingress).toEqual([
      { ports: [{ protocol: 'TCP', port: 'http' }], from: networkPolicy.ingressFrom },
    ])
  })

  test('it knows the names of all settings, and no others', async () => {
    const names = JSON.parse(await readFile(join(CHART, 'files/settings.json'), 'utf8'))

    expect(names, 'run npm run docs:settings').toEqual(settingNames())
  })

  test('alerts link to the documentation of the server', async () => {
    const values = { baseUrl: 'https://tools.example.com/path/', metrics: { prometheusRule: { enabled: true } } }

    const rendered = await renderedResources(SERVER, values)

    const rule = rendered.find(({ kind }) => kind === 'PrometheusRule')
    const runbooks: string[] = rule?.spec.groups[0].rules.map(({ annotations }: Resource) => annotations.runbook_url)
    expect(runbooks.length).toBeGreaterThan(10)
    expect(runbooks.filter((url) => !url.startsWith('https://tools.example.com/path/docs/monitoring#'))).toEqual([])
  })

  test('it passes lint', async () => {
    expect(await lintChart(helm, REPLICATED)).toMatchObject({ code: 0 })
  })

  test('its schema and its default values have the same names', async () => {
    const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'))
    const values = parse(await readFile(join(CHART, 'values.yaml'), 'utf8'))

    expect(namesOf(values, schema, schema)).toEqual(namesOf(schema.properties, schema, schema))
  })

  test('its schema knows the settings that are whole numbers', async () => {
    const { definitions } = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'))
    const [pattern = ''] = Object.keys(definitions.settings.patternProperties)
    const variables = (isNumber: boolean) =>
      Object.entries<Setting>({ ...SETTINGS, ...AGENT_SETTINGS }).flatMap(([name, setting]) => {
        const { error } = setting.schema.safeParse('abc')
        return /whole number/.test(error?.message ?? '') === isNumber ? variablesOf(name, setting) : []
      })

    expect(variables(true).filter((name) => !new RegExp(pattern).test(name))).toEqual([])
    expect(variables(false).filter((name) => new RegExp(pattern).test(name))).toEqual([])
  })

  test.each(['loopback', '10.0.0.0/8, 192.0.2.1', 'fd00::/8,uniquelocal', '::ffff:10.0.0.1'])(
    'its schema accepts the proxies %s, as the server does',
    async (trustProxy) => {
      expect(readConfig({ GROUNDSTATE_TRUST_PROXY: trustProxy }).trustProxy).toBeDefined()
      expect(await renderChart(helm, { ...SERVER, server: { trustProxy } })).toMatchObject({ code: 0 })
    },
  )

  const scaled = { enabled: true, pool: 'rack', organization: 'acme' }
  test.each<[string, Values]>([
    ['baseUrl is missing', { secrets: { existingSecret: 'groundstate' } }],
    ["at '/baseUrl'", { ...SERVER, baseUrl: 'groundstate.example.com' }],
    [
      'baseUrl is missing',
      {
        server: { enabled: false },
        agents: { rack: { ...agent, url: SERVER.baseUrl } },
        metrics: { prometheusRule: { enabled: true } },
      },
    ],
    ['the secret is missing', { baseUrl: SERVER.baseUrl }],
    ['are both set', { ...SERVER, secrets: { existingSecret: 'a', values: { GROUNDSTATE_SECRET: 'b' } } }],
    ['s3.bucket is missing', { ...SERVER, mode: 'replicated' }],
    ['the database is missing', { ...REPLICATED, secrets: { values: { GROUNDSTATE_SECRET: 'ab' } } }],
    ['server.replicas is 2: mode standalone has one server', { ...SERVER, server: { replicas: 2 } }],
    ['server.autoscaling needs mode replicated', { ...SERVER, server: { autoscaling: { enabled: true } } }],
    ['worker.enabled needs mode replicated', { ...SERVER, worker: { enabled: true } }],
    [
      'the token for /metrics is missing',
      { ...SERVER, secrets: { values: { GROUNDSTATE_SECRET: 'ab' } }, metrics: { serviceMonitor: { enabled: true } } },
    ],
    ['httpRoute.parentRefs is empty', { ...SERVER, httpRoute: { enabled: true } }],
    ['settings.GROUNDSTATE_SMTP_URL is a secret', { ...SERVER, settings: { GROUNDSTATE_SMTP_URL: 'smtp://a' } }],
    ['settings.GROUNDSTATE_PROT: there is no such setting', { ...SERVER, settings: { GROUNDSTATE_PROT: 1 } }],
    ['settings.GROUNDSTATE_PORT: the chart sets it', { ...SERVER, settings: { GROUNDSTATE_PORT: 8080 } }],
    [
      'agents.rack.settings.GROUNDSTATE_PORT: there is no such setting of agents',
      { ...SERVER, agents: { rack: { ...agent, settings: { GROUNDSTATE_PORT: 1 } } } },
    ],
    [
      'agents.rack.settings.GROUNDSTATE_AGENT_ACCEPT: the chart sets it',
      { ...SERVER, agents: { rack: { ...agent, settings: { GROUNDSTATE_AGENT_ACCEPT: 'plan' } } } },
    ],
    [
      'agentDefaults.settings.GROUNDSTATE_HOOK: there is no such setting of agents',
      { ...SERVER, agentDefaults: { settings: { GROUNDSTATE_HOOK: '/hooks' } } },
    ],
    [
      'secrets.values.GROUNDSTATE_SECRETS: there is no such setting',
      { ...SERVER, secrets: { values: { GROUNDSTATE_SECRET: 'ab'.repeat(32), GROUNDSTATE_SECRETS: 'a' } } },
    ],
    [
      'secrets.values.GROUNDSTATE_SECRET must be 32 bytes',
      { ...SERVER, secrets: { values: { GROUNDSTATE_SECRET: 'abc' } } },
    ],
    ['s3.endpoint has no effect without s3.bucket', { ...SERVER, s3: { endpoint: 'https://s3.example.com' } }],
    ["at '/persistence/size'", { ...SERVER, persistence: { size: 5 } }],
    ["at '/persistence/size'", { ...SERVER, persistence: { size: '5K' } }],
    ["at '/agents/rack/workDirSize'", { ...SERVER, agents: { rack: { ...agent, workDirSize: '20' } } }],
    ["at '/settings/GROUNDSTATE_CONCURRENCY'", { ...SERVER, settings: { GROUNDSTATE_CONCURRENCY: 'abc' } }],
    ["at '/settings/GROUNDSTATE_PLAN_TIMEOUT'", { ...SERVER, settings: { GROUNDSTATE_PLAN_TIMEOUT: 1.5 } }],
    ["at '/server/trustProxy'", { ...SERVER, server: { trustProxy: 'loclhost' } }],
    ['there is nothing to install', { server: { enabled: false } }],
    ["additional properties 'replica' not allowed", { ...SERVER, server: { replica: 2 } }],
    ['agents.rack.tokenSecret.name is missing', { ...SERVER, agents: { rack: {} } }],
    ['agents.rack.url is missing', { server: { enabled: false }, agents: { rack: agent } }],
    ["additional properties 'pool' not allowed", { ...SERVER, agents: { rack: { ...agent, pool: 'rack' } } }],
    ['kind ScaledJob starts one agent', { ...SERVER, agents: { rack: { ...agent, kind: 'ScaledJob' } } }],
    ['needs pool and organization', { ...SERVER, agents: { rack: { ...agent, autoscaling: { enabled: true } } } }],
    ['needs either prometheus', { ...SERVER, agents: { rack: { ...agent, autoscaling: scaled } } }],
  ])('values are refused: %s', async (message, values) => {
    const { code, stderr } = await renderChart(helm, values)

    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })
})

async function renderedResources(...values: Values[]) {
  const { stdout, stderr, code } = await renderChart(helm, Object.assign({}, ...values))
  if (code !== 0) throw new Error(stderr)
  return resourcesIn(stdout)
}

/** The template of the pods that a resource creates. */
function podOf({ spec }: Resource) {
  return spec?.template ?? spec?.jobTargetRef?.template
}

/** The variables with values; those of Secrets and fields have none. */
function environmentOf(container: { env: readonly { name: string; value?: string }[] }) {
  return Object.fromEntries(container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])))
}

/** The resources of the chart that a resource names. */
function referencesOf({ kind, spec }: Resource): string[] {
  const service = (name: string) => `Service ${name}`
  if (kind === 'Ingress') {
    const paths: { backend: { service: { name: string } } }[] = spec.rules[0].http.paths
    return paths.map(({ backend }) => service(backend.service.name))
  }
  if (kind === 'HTTPRoute') return [service(spec.rules[0].backendRefs[0].name)]
  if (kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject') return [`Deployment ${spec.scaleTargetRef.name}`]
  if (kind === 'StatefulSet') return [service(spec.serviceName)]
  return []
}

/** The labels by which a resource selects pods; undefined if it does not. */
function selectorOf({ kind, spec }: Resource): Record<string, string> | undefined {
  if (kind === 'Service') return spec.selector
  if (kind === 'NetworkPolicy') return spec.podSelector.matchLabels
  if (['PodDisruptionBudget', 'PodMonitor', 'Deployment', 'StatefulSet'].includes(kind))
    return spec.selector.matchLabels
  return undefined
}

function hasPod(labels: Record<string, string>) {
  return (resource: Resource) => {
    const pod = podOf(resource)
    return pod !== undefined && Object.entries(labels).every(([name, value]) => pod.metadata.labels[name] === value)
  }
}

type Schema = { properties?: Record<string, Schema>; $ref?: string; definitions?: Record<string, Schema> }

function resolved(schema: Schema, root: Schema): Schema {
  return schema.$ref === undefined ? schema : (root.definitions?.[schema.$ref.split('/').at(-1) ?? ''] ?? {})
}

/** Names of values, except those in free-form maps. */
function namesOf(values: object, schema: Schema, root: Schema): string[] {
  const { properties = {} } = resolved(schema, root)
  return Object.entries(values)
    .filter(([name]) => name !== 'global')
    .flatMap(([name, value]) => {
      const inner = properties[name] ?? {}
      const names = resolved(inner, root).properties
      if (!names || inner.$ref?.endsWith('/resources')) return [name]
      // The schema is walked along with itself to list its names.
      return namesOf(values === properties ? names : value, inner, root).map((path) => `${name}.${path}`)
    })
    .toSorted((a, b) => a.localeCompare(b))
}
