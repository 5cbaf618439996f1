import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import { capitalized, counted } from '../../components/numbers.ts'

/** A JSON Schema, with the keywords that the server writes. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  additionalProperties?: Schema | boolean
  enum?: unknown[]
  const?: unknown
  default?: unknown
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
}
type Content = Record<string, { schema: Schema }>
export type ApiResponse = { $ref?: string; description?: string; content?: Content }
type Parameter = { name: string; in: 'path' | 'query'; required?: boolean; description?: string; schema: Schema }
type OperationOnWire = {
  operationId: string
  summary: string
  description: string
  tags: readonly [string]
  parameters?: readonly Parameter[]
  security?: readonly unknown[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, ApiResponse>
}
export type ApiDocument = {
  info: { version: string; description: string }
  paths: Record<string, Record<string, OperationOnWire>>
  components: { schemas: Record<string, Schema>; responses: Record<string, ApiResponse> }
}
export type Operation = OperationOnWire & { method: string; path: string }
/** The operations of a tag; `page` is the tag in the address. */
export type Tag = { name: string; page: string; operations: readonly Operation[] }

export function useApiDocument() {
  return useQuery({
    queryKey: ['api-document'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const document = await get<ApiDocument>('/openapi.json')
      return { document, tags: tagsOf(document) }
    },
  })
}

export function tagsOf({ paths }: Pick<ApiDocument, 'paths'>): readonly Tag[] {
  const byTag = new Map<string, Operation[]>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag] = operation.tags
      byTag.set(tag, [...(byTag.get(tag) ?? []), { ...operation, method: method.toUpperCase(), path }])
    }
  }
  return [...byTag]
    .map(([tag, operations]) => ({ name: capitalized(tag), page: tag.replaceAll(' ', '-'), operations }))
    .toSorted((one, other) => one.name.localeCompare(other.name))
}

/** The tags with the operations that contain all words of a search. */
export function searchOperations(tags: readonly Tag[], search: string): readonly Tag[] {
  const words = search.toLowerCase().split(/\s+/)
  return tags
    .map((tag) => ({
      ...tag,
      operations: tag.operations.filter(({ method, path, summary, operationId }) => {
        const text = `${method} ${path} ${summary} ${operationId} ${tag.name}`.toLowerCase()
        return words.every((word) => text.includes(word))
      }),
    }))
    .filter(({ operations }) => operations.length > 0)
}

/** The last part of a reference: the name of a schema or response. */
export function nameIn(reference: string) {
  return reference.split('/').at(-1) ?? ''
}

/** The type of a schema in words, such as `array of Workspace`. */
export function typeText(schema: Schema): string {
  const { $ref, type, items, anyOf, oneOf, enum: values } = schema
  if ($ref !== undefined) return nameIn($ref)
  if ('const' in schema) return JSON.stringify(schema.const)
  const variants = anyOf ?? oneOf
  if (variants) return [...new Set(variants.map(typeText))].join(' or ')
  if (type === 'array') return items ? `array of ${typeText(items)}` : 'array'
  if (type !== undefined) return [type].flat().join(' or ')
  return values ? 'string' : 'any'
}

/** The rules of a schema in words, such as `at most 90 characters`. */
export function ruleTexts(schema: Schema): readonly string[] {
  const { enum: values, format, pattern, minimum, maximum, minLength, maxLength, maxItems } = schema
  const items = schema.items?.enum
  return [
    values && `one of ${values.map(String).join(', ')}`,
    items && `any of ${items.map(String).join(', ')}`,
    format !== undefined && format,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minLength !== undefined && minLength > 0 && `at least ${counted(minLength, 'character')}`,
    maxLength !== undefined && `at most ${counted(maxLength, 'character')}`,
    maxItems !== undefined && `at most ${counted(maxItems, 'item')}`,
    pattern !== undefined && `matches ${pattern}`,
    'default' in schema && `${JSON.stringify(schema.default)} by default`,
  ].filter((text) => typeof text === 'string')
}

/** The schema that a reference names, and the item of a list. */
export function resolved(schema: Schema, document: ApiDocument): Schema {
  if (schema.$ref !== undefined) return resolved(document.components.schemas[nameIn(schema.$ref)] ?? {}, document)
  return schema.type === 'array' && schema.items ? resolved(schema.items, document) : schema
}

const MAX_DEPTH = 8

/** A value with the required members; of optional attributes, the first one. */
export function exampleOf(schema: Schema, document: ApiDocument, depth = 0, own = ''): unknown {
  const { $ref, type, items, properties, required = [], anyOf, oneOf, enum: values, minimum } = schema
  if (depth > MAX_DEPTH) return null
  if ($ref !== undefined) return exampleOf(document.components.schemas[nameIn($ref)] ?? {}, document, depth + 1)
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (values) return values[0]
  const variant = anyOf?.[0] ?? oneOf?.[0]
  if (variant) return exampleOf(variant, document, depth + 1)
  const kind = [type].flat()[0]
  if (kind === 'array') return items ? [exampleOf(items, document, depth + 1)] : []
  if (kind === 'object') {
    const names = Object.keys(properties ?? {})
    const isAnyOf = own === 'attributes' && required.length === 0
    const shown = isAnyOf ? names.slice(0, 1) : names.filter((name) => required.includes(name))
    return Object.fromEntries(
      shown.map((name) => [name, exampleOf(properties?.[name] ?? {}, document, depth + 1, name)]),
    )
  }
  if (kind === 'boolean') return true
  if (kind === 'integer' || kind === 'number') return minimum ?? 1
  if (schema.format === 'date-time') return '2026-01-31T12:00:00Z'
  return kind === 'string' ? '…' : null
}
