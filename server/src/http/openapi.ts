import { z } from 'zod'
import { API_PREFIX, type Route } from './http.ts'
import { offeredPaths } from './includes.ts'

/** A JSON Schema, with the keywords that the reading page looks at. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  [keyword: string]: unknown
}

export type Operation = {
  operationId: string
  tags: [string]
  parameters: Parameter[]
  security?: []
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, unknown>
}
type Parameter = { name: string; in: 'path' | 'query'; required?: true; schema: Schema; [field: string]: unknown }

export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, unknown> }
}

const DESCRIPTION = `Documents are JSON:API. Send an API token as bearer; an id is the one that a document carries.
A list takes \`page[number]\` and \`page[size]\` (20, at most 100) and carries \`meta.pagination\`. What you may not see is
answered as what does not exist.`

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })
const JSON_API = 'application/vnd.api+json'

/** The OpenAPI 3.1 document of the public API: one operation for each route, bodies from the schemas that parse them. */
export function openApi(routes: readonly Route[], baseUrl: string): OpenApi {
  const described = routes.filter((route) => (route.options.prefix ?? API_PREFIX) === API_PREFIX)
  const schemas: Record<string, Schema> = { ...SCHEMAS }
  const names = new Map<z.ZodType, string>()
  const paths: OpenApi['paths'] = {}

  for (const route of described) {
    const id = operationId(route)
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = {
      operationId: id,
      tags: [route.feature],
      parameters: parameters(route),
      ...(route.options.access === 'public' && { security: [] }),
      ...requestBody(route, id),
      responses: {
        '2XX': ref('responses', 'Success'),
        '4XX': ref('responses', 'Error'),
        '5XX': ref('responses', 'Error'),
      },
    }
  }

  function requestBody({ options }: Route, id: string): Pick<Operation, 'requestBody'> {
    if (options.upload) {
      return { requestBody: { required: true, content: { 'application/octet-stream': { schema: {} } } } }
    }
    const { body } = options
    if (!body) return {}
    let name = names.get(body)
    if (name === undefined) {
      name = `${id}Body`
      names.set(body, name)
      schemas[name] = jsonSchema(body, name)
    }
    const required = !body.safeParse(undefined).success
    return { requestBody: { required, content: { [JSON_API]: { schema: ref('schemas', name) } } } }
  }

  return {
    openapi: '3.1.1',
    info: { title: 'Groundstate', version: '2.6', description: DESCRIPTION },
    servers: [{ url: baseUrl }],
    security: [{ token: [] }],
    tags: [...new Set(described.map((route) => route.feature))].toSorted().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'an API token' } },
      responses: {
        Success: { description: 'done', content: { [JSON_API]: { schema: ref('schemas', 'Document') } } },
        Error: { description: 'refused', content: { [JSON_API]: { schema: ref('schemas', 'Errors') } } },
      },
      schemas,
    },
  }
}

/** The schema of what is sent, before defaults and transformations; references within it are made to work from outside. */
function jsonSchema(body: z.ZodType, name: string): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })
  const root = `"$ref":"#/components/schemas/${name}`
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#"', `${root}"`).replaceAll('"$ref":"#/$defs/', `${root}/$defs/`),
  )
}

/** `GET /workspaces/:id/runs` → `getWorkspacesByIdRuns`. */
function operationId({ method, url }: Route) {
  const words = url.slice(API_PREFIX.length).split(/[^A-Za-z0-9:]+/)
  const name = words.map((word) =>
    word.replace(/^:/, 'by ').replaceAll(/(?:^| )\w/g, (start) => start.trim().toUpperCase()),
  )
  return `${method.toLowerCase()}${name.join('')}`
}

function parameters({ url, options }: Route): Parameter[] {
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']): Parameter => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const offered = offeredPaths(options.include ?? [])
  if (offered.length === 0) return inPath
  const items = { type: 'string', enum: [...offered] }
  return [...inPath, { name: 'include', in: 'query', explode: false, schema: { type: 'array', items } }]
}

const identifier = {
  type: 'object',
  required: ['type', 'id'],
  properties: { type: { type: 'string' }, id: { type: 'string' } },
}

const SCHEMAS: Record<string, Schema> = {
  Document: {
    type: 'object',
    required: ['data'],
    properties: {
      data: {
        anyOf: [ref('schemas', 'Resource'), { type: 'array', items: ref('schemas', 'Resource') }, { type: 'null' }],
      },
      included: { type: 'array', items: ref('schemas', 'Resource') },
      links: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
      meta: { type: 'object', properties: { pagination: ref('schemas', 'Pagination') } },
    },
  },
  Resource: {
    ...identifier,
    properties: {
      ...identifier.properties,
      attributes: { type: 'object' },
      relationships: {
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: { data: { anyOf: [identifier, { type: 'array', items: identifier }, { type: 'null' }] } },
        },
      },
      links: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  Pagination: {
    type: 'object',
    properties: {
      'current-page': { type: 'integer' },
      'page-size': { type: 'integer' },
      'prev-page': { type: ['integer', 'null'] },
      'next-page': { type: ['integer', 'null'] },
      'total-pages': { type: 'integer' },
      'total-count': { type: 'integer' },
    },
  },
  Errors: {
    type: 'object',
    required: ['errors'],
    properties: {
      errors: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          required: ['status', 'title'],
          properties: {
            status: { type: 'string', pattern: '^[1-5][0-9]{2}$' },
            title: { type: 'string' },
            detail: { type: 'string' },
            source: {
              type: 'object',
              properties: { pointer: { type: 'string' }, parameter: { type: 'string' } },
            },
          },
        },
      },
    },
  },
}
