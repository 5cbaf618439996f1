import type { Values } from './helm.ts'

/** In secret values, so that a search finds them elsewhere. */
export const CANARY = 'canary-4f1e8c'

const SECRET = 'ab'.repeat(32)
const CREATED = {
  existingSecret: '',
  values: {
    GROUNDSTATE_SECRET: SECRET,
    GROUNDSTATE_DATABASE_URL: `postgresql://groundstate:${CANARY}@postgres/groundstate`,
    GROUNDSTATE_ADMIN_TOKEN: `${CANARY}-administrator`,
    GROUNDSTATE_METRICS_TOKEN: `${CANARY}-metrics-token`,
  },
}
const REPLICATED = { mode: 'replicated', s3: { bucket: 'states', endpoint: 'https://s3.example.com', region: 'here' } }

const SERVERS: Record<string, Values> = {
  standalone: {},
  trial: { server: { builtInAgent: true }, secrets: CREATED, metrics: { dashboard: { enabled: true } } },
  replicated: { ...REPLICATED, server: { replicas: 3 } },
  hpa: { ...REPLICATED, server: { autoscaling: { enabled: true } }, secrets: CREATED },
  workers: { ...REPLICATED, server: { replicas: 2, builtInAgent: true }, worker: { enabled: true } },
  none: { server: { enabled: false }, secrets: {} },
}

const queue = { enabled: true, pool: 'data centre', organization: 'acme' }
const byPrometheus = { ...queue, prometheus: { serverAddress: 'http://prometheus:9090', authentication: 'prometheus' } }
const byApi = { ...queue, apiTokenSecret: { name: 'scaler' } }
const tokenSecret = { name: 'pool' }

const AGENTS: Record<string, Values> = {
  without: {},
  agents: { rack: { tokenSecret }, shelf: { tokenSecret, enabled: false } },
  'two-groups': { rack: { tokenSecret, replicas: 3 }, cellar: { tokenSecret, accept: 'plan', drainSeconds: 3600 } },
  'scaled-by-prometheus': { rack: { tokenSecret, autoscaling: byPrometheus } },
  'scaled-by-api': { rack: { tokenSecret, concurrency: 4, autoscaling: byApi } },
  'jobs-by-prometheus': { rack: { kind: 'ScaledJob', tokenSecret, autoscaling: byPrometheus } },
  'jobs-by-api': { rack: { kind: 'ScaledJob', tokenSecret, autoscaling: byApi } },
}

const parentRefs = [{ name: 'public', namespace: 'gateways' }]
const ROUTES: Record<string, Values> = {
  direct: { baseUrl: 'http://groundstate.example.com:7777' },
  ingress: { ingress: { enabled: true, className: 'haproxy', tlsSecret: 'certificate' } },
  gateway: { httpRoute: { enabled: true, parentRefs, timeouts: { request: '0s' } } },
  path: {
    baseUrl: 'https://tools.example.com/groundstate/',
    ingress: { enabled: true, annotations: { 'example.com/timeout': '120s' } },
    httpRoute: { enabled: true, parentRefs },
  },
}

const placement = {
  podAnnotations: { 'example.com/pod': 'yes' },
  podLabels: { 'example.com/label': 'yes' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'runs', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  priorityClassName: 'important',
  extraEnv: [{ name: 'AWS_REGION', valueFrom: { configMapKeyRef: { name: 'cloud', key: 'region' } } }],
  extraVolumes: [{ name: 'engines', persistentVolumeClaim: { claimName: 'engines', readOnly: true } }],
  extraVolumeMounts: [{ name: 'engines', mountPath: '/engines', readOnly: true }],
}

const EXTRAS: Record<string, Values> = {
  plain: {},
  full: {
    listenAddress: '::',
    image: { digest: `sha256:${'0'.repeat(64)}`, pullSecrets: [{ name: 'registry' }] },
    settings: {
      GROUNDSTATE_PLAN_TIMEOUT: 7_200_000,
      GROUNDSTATE_OIDC_ISSUER: 'https://id.example.com',
      GROUNDSTATE_OIDC_CLIENT_ID: 'groundstate',
      GROUNDSTATE_OIDC_NAME: 'true',
      HTTPS_PROXY: 'http://proxy:3128',
    },
    server: { annotations: { 'example.com/a': 'b' }, trustProxy: '10.0.0.0/8', ...placement },
    agentDefaults: {
      ...placement,
      url: 'https://groundstate.example.com',
      livenessProbe: true,
      caSecret: { name: 'ca' },
      settings: { GROUNDSTATE_ENGINE_PATH: '/engines', GROUNDSTATE_STRICT_ENGINE: true },
      serviceAccount: {
        annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/runs' },
        automountToken: true,
      },
    },
    persistence: { storageClass: 'fast', annotations: { 'example.com/keep': 'yes' } },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/states' } },
    service: { type: 'NodePort', annotations: { 'example.com/a': 'b' } },
    networkPolicy: {
      enabled: true,
      ingressFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      agentEgress: [{ ports: [{ port: 443, protocol: 'TCP' }] }],
    },
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      podMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    },
  },
}

/** Values for each combination of servers, agents, routes and extras, by name. */
export function combinations(): Map<string, Values> {
  const found = new Map<string, Values>()
  for (const [server, serverValues] of Object.entries(SERVERS)) {
    for (const [agents, agentValues] of Object.entries(AGENTS)) {
      // Nothing to install.
      if (server === 'none' && agents === 'without') continue
      for (const [route, routeValues] of Object.entries(ROUTES)) {
        for (const [extra, extraValues] of Object.entries(EXTRAS)) {
          const base = { baseUrl: 'https://groundstate.example.com', secrets: { existingSecret: 'groundstate' } }
          const values = [base, routeValues, extraValues, serverValues].reduce(mergedValues)
          found.set([server, agents, route, extra].join('-'), { ...values, agents: agentValues })
        }
      }
    }
  }
  return found
}

function mergedValues(base: Values, more: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const merged = { ...base }
  for (const [name, value] of Object.entries(more)) {
    const present = merged[name]
    merged[name] = isMap(present) && isMap(value) ? mergedValues(present, value) : value
  }
  return merged
}
