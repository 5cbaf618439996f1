import type { Route } from '../http/http.ts'
import { openApi, type OpenApi, type JsonSchema } from '../http/openapi.ts'
import type { TestRequest } from './app.ts'

/** Existing ids, by the path segment before them. */
export type Ids = Record<string, string>

const LONG = 'a'.repeat(900)
const PATHS = [
  '%00',
  'ws-%00',
  '%ff',
  '%',
  '%ED%A0%80',
  '..%2f..%2fetc',
  '%2e%2e',
  LONG,
  `${LONG}${LONG}`,
  '__proto__',
  'constructor',
  '-1',
  '99999999999999999999',
  '%F0%9F%98%80',
  "';--",
  '%20',
  '~0000',
]

const BODIES: Record<string, string | Buffer> = {
  'an array': '[]',
  'a text': '"x"',
  'a number': '12',
  null: 'null',
  'data null': '{"data":null}',
  'data array': '{"data":[]}',
  'data of arrays': '{"data":[[],null,"x",{}]}',
  'data text': '{"data":"x"}',
  'attributes array': '{"data":{"type":"x","attributes":[],"relationships":[]}}',
  'attributes text': '{"data":{"type":1,"id":{},"attributes":"x","relationships":"x"}}',
  'deep arrays': '['.repeat(100_000) + ']'.repeat(100_000),
  'deep objects': `${'{"data":'.repeat(5000)}1${'}'.repeat(5000)}`,
  'no JSON': '{"data":',
  'a null character': String.raw`{"data":{"attributes":{"name":"a\u0000b"}}}`,
  'half a pair': String.raw`{"data":{"attributes":{"name":"\ud800"}}}`,
  'a null character in a key': String.raw`{"data":{"attributes":{"a\u0000":1}}}`,
  'bad UTF-8': Buffer.from([0x22, 0xff, 0xfe, 0x22]),
  'a huge text': `{"data":{"type":"x","attributes":{"name":"${'a'.repeat(1_500_000)}"}}}`,
  'more than is taken': 'x'.repeat(3_000_000),
  prototypes: '{"__proto__":{"isSiteAdmin":true},"data":{"__proto__":1,"constructor":{"prototype":1}}}',
  'huge numbers': '{"data":{"type":"x","attributes":{"serial":1e999,"id":123456789012345678901234567890}}}',
}

const TYPES = ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', ';;;', 'a/b; c']

const PARAMETERS = `page[number] page[size] include sort q q[email] q[name] offset limit since role type status name
search[name] search[tags] search[exclude-tags] search[wildcard-name] search[user] search[commit] search[basic]
filter[name] filter[names] filter[status] filter[operation] filter[source] filter[type] filter[email] filter[id]
filter[organization][name] filter[workspace][name] filter[workspace][names] filter[project][id] filter[tagged][0][key]
filter[tagged][0][value] filter[run-trigger][type] filter[last-ping-since] filter[current-run][status] filter[timeframe]
filter[exclude][taggable][id] filter[agent_pool_names] filter[status_group] filter[permissions][update] token url_code`.split(
  /\s+/,
)
const VALUES = [
  '',
  '0',
  '-1',
  '%',
  '%ff',
  '%ED%A0%80',
  '1e9',
  '999999999',
  'constructor',
  '-__proto__',
  '__proto__',
  'toString:desc',
  '[]',
  "';--",
  '%F0%9F%98%80',
  '%00',
  'a,'.repeat(100),
]

/**
 * Rounds of junk requests, those that find most first. In later rounds, neighbours get different values: each round
 * tries everything once, and all rounds together try every combination.
 */
export function* junkRounds(routes: readonly Route[], ids: Ids): Generator<TestRequest[]> {
  const api = openApi(routes, 'http://groundstate.test')
  yield routes.map((route) => target(route, ids))
  for (const flavour of ['plain', 'large', 'odd'] as const) {
    yield routes.flatMap((route) => {
      const body = sampleBody(api, route, { ids, flavour })
      return body === undefined ? [] : [{ ...target(route, ids), body }]
    })
  }
  yield routes.filter(isRead).map((route) => ({ ...target(route, ids), method: 'HEAD' }))

  const kinds: { for: (route: Route) => boolean; variants: ((route: Route) => TestRequest)[] }[] = [
    { for: isRead, variants: VALUES.map((value) => (route) => withQuery(target(route, ids), value)) },
    { for: hasBody, variants: Object.values(BODIES).map((body) => (route) => withBody(target(route, ids), body)) },
    { for: hasIds, variants: PATHS.map((path) => (route) => target(route, {}, path)) },
    { for: hasBody, variants: TYPES.map((type) => (route) => withBody(target(route, ids), '{}', type)) },
  ]
  const most = Math.max(...kinds.map((kind) => kind.variants.length))
  for (let shift = 0; shift < most; shift += 1) {
    for (const kind of kinds) {
      const { variants } = kind
      if (shift >= variants.length) continue
      yield routes
        .filter(kind.for)
        .flatMap((route, index) => variants[(index + shift) % variants.length]?.(route) ?? [])
    }
  }
}

/** A body of the shape that the route accepts, with existing ids; undefined when it accepts none. */
export function sampleBody(api: OpenApi, route: Route, { ids, flavour }: { ids: Ids; flavour: Flavour }): unknown {
  const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
  const content = api.paths[path]?.[route.method.toLowerCase()]?.requestBody?.content ?? {}
  const name = Object.values(content)[0]?.schema.$ref?.split('/').at(-1)
  const schema = name === undefined ? undefined : api.components.schemas[name]
  return schema && sample(schema, flavour, ids)
}

function isRead(route: Route) {
  return route.method === 'GET'
}

function hasBody(route: Route) {
  return route.method !== 'GET'
}

function hasIds(route: Route) {
  return route.url.includes(':')
}

function withBody(request: TestRequest, body: string | Buffer, type = 'application/vnd.api+json'): TestRequest {
  return { ...request, body, headers: { 'content-type': type } }
}

function target(route: Route, ids: Ids, fallback = 'x-0000000000000000'): TestRequest {
  // Deletions get unknown ids, so that the resources remain for other requests.
  const known = /delete/i.test(`${route.method} ${route.url}`) ? {} : ids
  const url = route.url.replaceAll(
    /([\w-]*)\/:\w+/g,
    (_, segment: string) => `${segment}/${known[segment] ?? fallback}`,
  )
  return { method: route.method, url }
}

function withQuery(request: TestRequest, value: string): TestRequest {
  const pairs = PARAMETERS.map((name) => `${encodeURIComponent(name)}=${value}`)
  // All at once, except that an invalid include would hide the later checks.
  const chosen = value === 'constructor' ? pairs : pairs.filter((pair) => !pair.startsWith('include'))
  return { ...request, url: `${request.url}?${chosen.join('&')}` }
}

type Flavour = 'plain' | 'large' | 'odd'

/** A value of the schema's shape, at the limits of what it allows. */
function sample(schema: JsonSchema, flavour: Flavour, ids: Ids, key = ''): unknown {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return sample(choices[flavour === 'odd' ? choices.length - 1 : 0] ?? {}, flavour, ids, key)
  if ('const' in schema) return schema['const']
  if (schema.enum) return schema.enum.at(flavour === 'plain' ? 0 : -1)
  if (schema.properties) {
    // A rejected attribute is rejected with any value.
    const taken = Object.entries(schema.properties).filter(([, inner]) => inner.not === undefined)
    const entries = taken.map(([name, inner]) => [name, sample(inner, flavour, ids, name)])
    const object = Object.fromEntries(entries)
    if (typeof object.id === 'string' && typeof object.type === 'string') object.id = ids[object.type] ?? object.id
    return object
  }
  switch ([schema.type].flat()[0] ?? 'anything') {
    case 'string':
      return sampleText(schema, flavour)
    case 'integer':
    case 'number':
      return sampleNumber(schema, flavour)
    case 'boolean':
      return flavour === 'plain'
    case 'array':
      return Array.from({ length: flavour === 'large' ? 50 : 1 }, () => sample(schema.items ?? {}, flavour, ids))
    case 'object':
      return flavour === 'large'
        ? Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, LONG]))
        : { a: '1' }
    case undefined:
    default:
      return flavour === 'plain' ? 'x' : { a: [1, null, 'x'] }
  }
}

function sampleText(schema: JsonSchema, flavour: Flavour) {
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : 20_000
  if (schema['format'] === 'date-time') return flavour === 'large' ? '9999-12-31T23:59:59Z' : '2030-01-01T00:00:00Z'
  if (schema['format'] === 'uri') return 'https://example.com/x'
  if (schema['format'] === 'email') return 'a@example.com'
  if (flavour === 'plain') return 'abcdefgh'.slice(0, Math.max(1, most))
  if (flavour === 'large') return 'b'.repeat(Math.min(most, 20_000))
  return "😀é\u202E%_\\'".slice(0, Math.max(1, most)).toWellFormed()
}

function sampleNumber(schema: JsonSchema, flavour: Flavour) {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number }
  if (flavour === 'large') return maximum ?? 2 ** 53 - 1
  return flavour === 'odd' ? (minimum ?? -(2 ** 31) - 1) : Math.max(1, minimum ?? 1)
}
