import { errorsDocument } from '@groundstate/contract/responses'
import { z } from 'zod'
import { AppError } from '../errors.ts'
import type { RouteOptions } from '../http/http.ts'
import type { Binary } from '../http/responses.ts'
import type { SentResponse } from '../http/server.ts'
import { parseBody } from '../http/validation.ts'

/**
 * The differences between a response and the description of its route, one a line; undefined when there are none. Errors
 * that a route does not describe must have the schema that all routes share.
 */
export function responseMismatch(response: SentResponse): string | undefined {
  const lines = linesOf(response)
  if (lines.length === 0) return undefined
  return [
    `${response.method} ${response.url} returned ${response.status}, which does not match its description:`,
    ...lines,
  ].join('\n  ')
}

function linesOf(response: SentResponse) {
  try {
    return mismatches(response)
  } catch (error) {
    // Reported as a mismatch, since an error thrown while a response is sent would be lost.
    return [String(error)]
  }
}

function mismatches({ route, status, type = 'none', content }: SentResponse): string[] {
  const { responses, include } = route?.options ?? {}
  // Every route may return 304.
  if (status === 304) return []
  const schema = responses?.[status] ?? (status >= 400 && isJson(type) ? errorsDocument : undefined)
  if (responses?.[status] === null) return isEmpty(content) ? [] : ['it has a body, none is described']
  if (schema === undefined) {
    return responses && status < 400 ? [`the status is none of ${Object.keys(responses).join(', ')}`] : []
  }
  // A request can be rejected before a handler that sends errors of another type.
  if (isBinary(schema) && status >= 400 && isJson(type)) return contentMismatches(errorsDocument, content, undefined)
  if (isBinary(schema)) return isOfType(type, schema) ? [] : [`its type is ${type}, not ${schema.contentType}`]
  if (!isJson(type)) return [`its type is ${type}, not JSON`]
  return contentMismatches(schema, content, include)
}

/** Streams are not read. */
function contentMismatches(schema: z.ZodType, content: unknown, include: RouteOptions['include']) {
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) return []
  return documentMismatches(schema, JSON.parse(String(content)), include)
}

function isEmpty(content: unknown) {
  return content === undefined || content === null || content === ''
}

function isBinary(schema: z.ZodType | Binary): schema is Binary {
  return !(schema instanceof z.ZodType)
}

/** A type described without parameters may have some; `image/*` is any image. */
function isOfType(type: string, { contentType }: Binary) {
  if (contentType.endsWith('/*')) return type.startsWith(contentType.slice(0, -1))
  return type === contentType || type.split(';', 1)[0] === contentType
}

function isJson(type: string) {
  return /^application\/(?:[\w.]+\+)?json\b/.test(type)
}

function documentMismatches(schema: z.ZodType, document: unknown, include: RouteOptions['include']): string[] {
  if (include === undefined || !hasIncluded(document)) return check(schema, document, '')
  const { included, ...rest } = document
  return [
    ...check(schema, rest, ''),
    ...included.flatMap((resource, index) => includedMismatches(include, resource, `/included/${index}`)),
  ]
}

function hasIncluded(document: unknown): document is { included: { type: string }[] } {
  return typeof document === 'object' && document !== null && 'included' in document && Array.isArray(document.included)
}

/** If there are several schemas for a type, one must match. */
function includedMismatches(include: object, resource: { type: string }, pointer: string): string[] {
  const schemas = schemasByType(include).get(resource.type)
  if (!schemas) return [`${pointer}: ${resource.type} must not be included`]
  const [first = [], ...others] = schemas.map((schema) => check(schema, resource, pointer))
  return others.some((lines) => lines.length === 0) ? [] : first
}

const known = new WeakMap<object, ReadonlyMap<string, readonly z.ZodType[]>>()

function schemasByType(include: object) {
  const cached = known.get(include)
  if (cached) return cached
  const tables: (z.ZodType | readonly z.ZodType[] | null)[] = Object.values(include)
  const schemas = new Set(tables.flatMap((schema) => schema ?? []))
  const typed = [...schemas].flatMap((schema) => typesOf(schema).map((type) => ({ type, schema })))
  const byType = new Map(
    [...Map.groupBy(typed, ({ type }) => type)].map(([type, pairs]) => [type, pairs.map(({ schema }) => schema)]),
  )
  known.set(include, byType)
  return byType
}

/** The values that a resource's schema allows for `type`. */
function typesOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(typesOf)
  const type: unknown = schema instanceof z.ZodObject ? schema.shape['type'] : undefined
  if (type instanceof z.ZodLiteral) return [...type.values].map(String)
  throw new Error('the schema of an included resource must have a literal type')
}

function check(schema: z.ZodType, value: unknown, pointer: string): string[] {
  try {
    parseBody(schema, value)
    return []
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return error.parts.map((part) => `${pointer}${part.source?.pointer ?? ''}: ${part.detail}`)
  }
}
