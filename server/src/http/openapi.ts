import { STATUS_CODES } from 'node:http'
import { errorsDocument } from '@groundstate/contract/responses'
import { z } from 'zod'
import type {
  CreateDocumentOptions,
  ZodOpenApiOperationObject,
  ZodOpenApiPathItemObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi'
import { type ComponentRegistry, createComponents, createRegistry } from 'zod-openapi/api'
import { API_PREFIX, type Route, type RouteOptions, type Routes } from './http.ts'
import { PAGE_SIZES } from './pagination.ts'
import { type ApiResponse, json, type ResponseSchema } from './responses.ts'
import { describeAccess, describeAudit, isForSiteAdmins, takesNoToken } from './route-access.ts'
import { JSON_API_TYPE } from './write.ts'

/** A JSON Schema; only the listed keywords are typed. */
export type JsonSchema = {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  enum?: unknown[]
  [keyword: string]: unknown
}

type Content = Record<string, { schema: JsonSchema }>
export type Response = { $ref?: string; description?: string; content?: Content }
export type ApiOperation = {
  operationId: string
  summary: string
  description: string
  tags: [string]
  parameters: Parameter[]
  security?: []
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Response>
}
type Parameter = { name: string; in: 'path' | 'query'; required?: true; schema: JsonSchema; [field: string]: unknown }

export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  tags: { name: string }[]
  paths: Record<string, Record<string, ApiOperation>>
  components: { schemas: Record<string, JsonSchema>; responses: Record<string, Response>; [kind: string]: unknown }
}

const OPENAPI_VERSION = '3.1.1'
const DESCRIPTION = `Documents are JSON:API. Send an API token as a bearer token. Ids are those in the documents.
Lists accept \`page[number]\` and \`page[size]\` (20, at most 100) and return \`meta.pagination\`. Resources that you may not see are
reported as not found.`

const documentSchema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
})

/**
 * Serves the OpenAPI document of `routes`, created on first use. `baseUrl` is read then, since a server on a free port does not know its address
 * earlier.
 */
export function documentRoutes(routes: readonly Route[], baseUrl: () => string): Routes {
  let document: ApiResponse | undefined
  return function descriptionRoutes(http) {
    http.get(
      '/openapi.json',
      { access: 'public', summary: 'Describe the API in OpenAPI', responses: { 200: documentSchema } },
      async () => (document ??= json(openApi(routes, baseUrl()))),
    )
  }
}

/** The OpenAPI document of the public API: one operation for each route, from its schemas. */
export function openApi(routes: readonly Route[], baseUrl: string): OpenApi {
  const described = routes.filter((route) => (route.options.prefix ?? API_PREFIX) === API_PREFIX)
  const registry = createRegistry()
  const describe: Describe = (schema, path) =>
    registry.addSchema(schema, path, { io: 'input', source: { type: 'mediaType' } })
  const paths = describePaths(described, registry, describe)
  const refused = refusals(describe)
  const components = createComponents(registry, { override: tidy }, OPENAPI_VERSION)
  const securitySchemes = { token: { type: 'http', scheme: 'bearer', description: 'an API token' } }
  const document = {
    openapi: OPENAPI_VERSION,
    info: { title: 'Groundstate', version: '2.6', description: DESCRIPTION },
    servers: [{ url: baseUrl }],
    security: [{ token: [] }],
    tags: [...new Set(described.map((route) => route.feature))].toSorted().map((name) => ({ name })),
    paths,
    components: { ...components, securitySchemes, responses: refused },
  }
  // The library's types are wider than what this document contains.
  return document as unknown as OpenApi
}

function describePaths(routes: readonly Route[], registry: ComponentRegistry, describe: Describe) {
  const nameBody = bodyNames()
  const items: Record<string, ZodOpenApiPathItemObject> = {}
  for (const route of routes) {
    const item = (items[route.url.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
    item[route.method.toLowerCase() as 'get'] = operation(route, nameBody, describe)
  }
  return Object.fromEntries(
    Object.entries(items).map(([path, item]) => [path, registry.addPathItem(item, ['paths', path])]),
  )
}

function operation(
  route: Route,
  nameBody: ReturnType<typeof bodyNames>,
  describe: Describe,
): ZodOpenApiOperationObject {
  const { summary, access, audit } = route.options
  const id = operationId(route)
  return {
    operationId: id,
    summary,
    description: [describeAccess(access), ...(audit === undefined ? [] : [describeAudit(audit)])].join('\n\n'),
    tags: [route.feature],
    ...(takesNoToken(access) && { security: [] }),
    requestParams: { path: pathParameters(route), query: queryParameters(route) },
    ...requestBody(route, (body) => nameBody(body, `${id}Body`)),
    responses: responses(route, (schema, path) => describe(schema, [id, ...path])),
  }
}

function requestBody({ options: { upload, body } }: Route, named: (body: z.ZodType) => z.ZodType) {
  if (upload) return { requestBody: { required: true, content: { 'application/octet-stream': { schema: {} } } } }
  if (!body) return {}
  const required = !body.safeParse(undefined).success
  return { requestBody: { required, content: { [JSON_API_TYPE]: { schema: named(body) } } } }
}

/** Names each body after the first operation that accepts it, unless its schema has a name. */
function bodyNames() {
  const named = new Map<z.ZodType, z.ZodType>()
  return (body: z.ZodType, name: string) => {
    if (body.meta()?.id !== undefined) return body
    const known = named.get(body) ?? body.meta({ id: name })
    named.set(body, known)
    return known
  }
}

/** `GET /workspaces/:id/runs` → `getWorkspacesByIdRuns`. */
function operationId({ method, url }: Route) {
  const words = url.slice(API_PREFIX.length).split(/[^A-Za-z0-9:]+/)
  const name = words.map((word) =>
    word.replace(/^:/, 'by ').replaceAll(/(?:^| )\w/g, (start) => start.trim().toUpperCase()),
  )
  return `${method.toLowerCase()}${name.join('')}`
}

function pathParameters({ url }: Route) {
  return z.object(Object.fromEntries([...url.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, z.string()])))
}

const INCLUDE = { description: 'related resources to send along, a comma list', param: { explode: false } }

function queryParameters({ options }: Route) {
  const include = Object.keys(options.include ?? {})
  return z.object({
    ...(include.length > 0 && { include: z.array(z.enum(include)).optional().meta(INCLUDE) }),
    ...((options.pageSizes ?? isPaged(options.responses)) && pageParameters(options.pageSizes)),
    ...Object.fromEntries(Object.entries(options.query ?? {}).map(([name, schema]) => [name, queryParameter(schema)])),
  })
}

function pageParameters({ preset, max } = PAGE_SIZES) {
  const size = `items on a page, ${preset} by default; larger values count as ${max}`
  return {
    'page[number]': z.int().min(1).optional().describe('page number, from 1'),
    'page[size]': z.int().min(1).optional().describe(size),
  }
}

/** A query parameter is optional in the document unless its schema has `REQUIRED`. */
function queryParameter(schema: z.ZodType) {
  return schema.optional().meta({ ...schema.meta() })
}

/** Removes keywords that do not help clients, or that would forbid later additions. */
const tidy: CreateDocumentOptions['override'] = ({ jsonSchema }) => {
  // Schemas are strict for our tests. Clients must accept new members in responses.
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  // The format is equivalent; the pattern is ten lines long.
  if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
}

/**
 * Adds a schema to the document and returns it as JSON Schema or a reference. Bodies and responses are both described by the input of their
 * schemas: the JSON on the wire. The path must be unique in the document.
 */
type Describe = (schema: z.ZodType, path: string[]) => ReturnType<ComponentRegistry['addSchema']>

const ref = (name: string) => ({ $ref: `#/components/responses/${name}` })

/** All responses of a route by status, including the shared error responses. */
function responses({ url, options }: Route, describe: Describe): ZodOpenApiResponsesObject {
  const own = Object.entries(options.responses).map(([status, schema]) => [
    status,
    response(status, schema, options.include, describe),
  ])
  return {
    ...(!takesNoToken(options.access) && { 401: ref('Unauthorized') }),
    ...((url.includes(':') || isForSiteAdmins(options.access)) && { 404: ref('NotFound') }),
    ...(options.body && { 422: ref('Invalid') }),
    '4XX': ref('Refused'),
    '5XX': ref('Failed'),
    ...Object.fromEntries(own),
  }
}

function response(status: string, schema: ResponseSchema, include: RouteOptions['include'], describe: Describe) {
  const description = STATUS_CODES[status] ?? 'Success'
  if (schema === null) return { description }
  if (!(schema instanceof z.ZodType)) return { description, content: { [schema.contentType]: { schema: {} } } }
  // JSON:API documents have only these members; all other JSON is plain JSON.
  const isJsonApi =
    schema instanceof z.ZodObject && Object.keys(schema.shape).every((name) => DOCUMENT_MEMBERS.has(name))
  const type = isJsonApi ? JSON_API_TYPE : 'application/json'
  return { description, content: { [type]: { schema: describe(withIncluded(schema, include), [status]) } } }
}

const DOCUMENT_MEMBERS = new Set(['data', 'errors', 'included', 'links', 'meta'])

function refusals(describe: Describe) {
  const schema = describe(errorsDocument, ['refusals'])
  const refusal = (description: string) => ({ description, content: { [JSON_API_TYPE]: { schema } } })
  return {
    Unauthorized: refusal('the token is missing, wrong or expired'),
    NotFound: refusal('it does not exist, or you may not see it'),
    Invalid: refusal('the body has a value that is not allowed; `source.pointer` locates it'),
    Refused: refusal('refused; the detail of each error gives the reason'),
    Failed: refusal('failed on this server, regardless of the request'),
  }
}

/** Whether one of the responses is a page with links to other pages. */
function isPaged(schemas: RouteOptions['responses']) {
  return Object.values(schemas)
    .flatMap((schema): unknown[] => (schema instanceof z.ZodUnion ? [...schema.options] : [schema]))
    .some((schema) => schema instanceof z.ZodObject && 'links' in schema.shape && 'meta' in schema.shape)
}

function withIncluded(schema: z.ZodType, include: RouteOptions['include'] = {}) {
  const included = new Set(Object.values(include).flatMap((added) => added ?? []))
  if (included.size === 0 || !(schema instanceof z.ZodObject)) return schema
  return schema.extend({ included: z.array(z.union([...included])).optional() })
}
