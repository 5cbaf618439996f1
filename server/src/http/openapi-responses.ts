import { STATUS_CODES } from 'node:http'
import { errorsDocument } from '@groundstate/contract/responses'
import { z } from 'zod'
import type { ZodOpenApiResponsesObject } from 'zod-openapi'
import type { ComponentRegistry } from 'zod-openapi/api'
import type { Route, RouteOptions } from './http.ts'
import type { ResponseSchema } from './responses.ts'
import { isForSiteAdmins, takesNoToken } from './route-access.ts'
import { JSON_API_TYPE } from './write.ts'

/**
 * Adds a schema to the document and returns it as JSON Schema or a reference. Bodies and responses are both described by the input of their
 * schemas: the JSON on the wire. The path must be unique in the document.
 */
export type Describe = (schema: z.ZodType, path: string[]) => ReturnType<ComponentRegistry['addSchema']>

const ref = (name: string) => ({ $ref: `#/components/responses/${name}` })

/** All responses of a route by status, including the shared error responses. */
export function responses({ url, options }: Route, describe: Describe): ZodOpenApiResponsesObject {
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

export function refusals(describe: Describe) {
  const schema = describe(errorsDocument, ['refusals'])
  const refusal = (description: string) => ({ description, content: { [JSON_API_TYPE]: { schema } } })
  return {
    Unauthorized: refusal('the token is missing, wrong or expired'),
    NotFound: refusal('it does not exist, or you may not see it'),
    Invalid: refusal('the body has a value that is not allowed; `source.pointer` says where'),
    Refused: refusal('refused; the detail of each error says why'),
    Failed: refusal('failed on this server, whatever was sent'),
  }
}

/** Whether one of the responses is a page with links to other pages. */
export function isPaged(schemas: RouteOptions['responses']) {
  return Object.values(schemas)
    .flatMap((schema): unknown[] => (schema instanceof z.ZodUnion ? [...schema.options] : [schema]))
    .some((schema) => schema instanceof z.ZodObject && 'links' in schema.shape && 'meta' in schema.shape)
}

function withIncluded(schema: z.ZodType, include: RouteOptions['include'] = {}) {
  const included = new Set(Object.values(include).flatMap((added) => added ?? []))
  if (included.size === 0 || !(schema instanceof z.ZodObject)) return schema
  return schema.extend({ included: z.array(z.union([...included])).optional() })
}
