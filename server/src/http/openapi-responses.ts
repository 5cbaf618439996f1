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
 * Adds a schema to the document and returns it as JSON Schema, or as a reference. Bodies and answers are both described
 * by the input of their schemas: the JSON on the wire. The path must be unique in the document.
 */
export type Describe = (schema: z.ZodType, path: string[]) => ReturnType<ComponentRegistry['addSchema']>

const ref = (name: string) => ({ $ref: `#/components/responses/${name}` })

/** All answers of a route by status: its own and the error answers that routes share. */
export function responses({ url, options }: Route, describe: Describe): ZodOpenApiResponsesObject {
  const own = Object.entries(options.responses).map(([status, answer]) => [
    status,
    response(status, answer, options.include, describe),
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

function response(status: string, answer: ResponseSchema, include: RouteOptions['include'], describe: Describe) {
  const description = STATUS_CODES[status] ?? 'Success'
  if (answer === null) return { description }
  if (!(answer instanceof z.ZodType)) return { description, content: { [answer.contentType]: { schema: {} } } }
  const type = isJsonApi(answer) ? JSON_API_TYPE : 'application/json'
  return { description, content: { [type]: { schema: describe(withIncluded(answer, include), [status]) } } }
}

/** The shared error answers, for `components.responses`. */
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
export function isPaged(answers: RouteOptions['responses']) {
  return Object.values(answers)
    .flatMap((answer): unknown[] => (answer instanceof z.ZodUnion ? [...answer.options] : [answer]))
    .some((answer) => answer instanceof z.ZodObject && 'links' in answer.shape && 'meta' in answer.shape)
}

const DOCUMENT_MEMBERS = new Set(['data', 'errors', 'included', 'links', 'meta'])

/** JSON:API documents have only these members; all other JSON is plain JSON. */
function isJsonApi(answer: z.ZodType) {
  return answer instanceof z.ZodObject && Object.keys(answer.shape).every((name) => DOCUMENT_MEMBERS.has(name))
}

/** The schema of a document, extended by its possible includes. */
function withIncluded(answer: z.ZodType, include: RouteOptions['include'] = {}) {
  const brought = new Set(Object.values(include).flat().filter(isSchema))
  if (brought.size === 0 || !(answer instanceof z.ZodObject)) return answer
  return answer.extend({ included: z.array(z.union([...brought])).optional() })
}

/** Paths that add nothing have null instead of a schema. */
function isSchema(brought: unknown): brought is z.ZodType {
  return brought instanceof z.ZodType
}
