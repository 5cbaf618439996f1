import { z } from 'zod'

/** Maximum number of items of a list in a request, unless its schema has another. */
export const MAX_ITEMS = 1000

/** A list in a request. */
export function boundedList<Item extends z.ZodType>(item: Item, max = MAX_ITEMS) {
  return z.preprocess(limitItems(max), z.array(item).max(max))
}

/** An object in a request whose keys the client chooses. */
export function boundedMap<Key extends z.ZodType<string>, Value extends z.ZodType>(
  key: Key,
  value: Value,
  max = MAX_ITEMS,
) {
  return z.preprocess(limitItems(max), z.record(key, value).meta({ maxProperties: max }))
}

/** Rejects too many items before they are parsed: each invalid one takes a kilobyte. */
function limitItems(maximum: number) {
  return (input: unknown, { issues }: z.core.ParsePayload) => {
    const isTooBig = typeof input === 'object' && input !== null && itemCount(input) > maximum
    if (isTooBig) issues.push({ code: 'too_big', origin: 'array', maximum, inclusive: true, input })
    return input
  }
}

export function itemCount(input: object) {
  return Array.isArray(input) ? input.length : Object.keys(input).length
}

const id = z.string().max(255)
/** The id of a resource, or the name that serves as one. */
export const resourceId = id.min(1)
/** An id that may be empty for none. */
export const optionalId = id.nullish()

/** A related resource in a body: `{"data": {"type": "…", "id": "…"}}`. Newer clients omit the type where only one is possible. */
export function toOne(type: string) {
  return related(z.literal(type).default(type), type)
}

/** As `toOne`, with a required type. */
export function toTyped(...types: [string, ...string[]]) {
  return related(z.literal(types), types[0])
}

function related<T extends z.ZodType<string>>(type: T, example: string) {
  const form = `{"data": {"type": "${example}", "id": "…"}}`
  return z.object(
    { data: z.object({ type, id: resourceId }) },
    { error: ({ input }) => (input === undefined ? `it must be ${form}` : undefined) },
  )
}

/** Rejects a name that would otherwise be dropped as unknown, since callers who send it expect an effect. */
export function rejectedAttribute(detail: string) {
  return z.never(detail).optional().describe(`refused: ${detail}`)
}

/** The flag of a feature that this server does not have. Clients send false; `feature` completes the error for true. */
export function unsupportedFlag(name: string, feature: string) {
  const error = `${name} must be false: ${feature} not supported by this server`
  return z
    .boolean()
    .refine((value) => !value, { error })
    .meta({ const: false })
    .nullish()
}

/** As `toOne`, for a relationship that `{"data": null}` removes. */
export function toOneOrNone(type: string) {
  return z.object({ data: toOne(type).shape.data.nullable() })
}

/** Maximum number of related resources in a body. More than `MAX_ITEMS`, since a list can replace another and cannot be sent in parts. */
const MAX_RELATED = 10_000

/** Related resources in a body: `{"data": [{"type": "…", "id": "…"}]}`. */
export function toMany(type: string) {
  return z.object({ data: boundedList(z.object({ type: z.literal(type), id: resourceId }), MAX_RELATED) })
}

export const identifiersBody = toMany

/**
 * The body of a JSON:API request. Unknown attributes are dropped, since existing clients send some. `attributes` may be missing, and so may a
 * type that is a text, since newer clients omit it; a schema makes it required.
 */
export function requestBody<A extends z.ZodType, R extends z.ZodObject = typeof NO_RELATIONSHIPS>(
  type: string | z.ZodType<string>,
  attributes: A,
  relationships?: R,
) {
  return z.object({
    data: z.object({
      type: typeof type === 'string' ? z.literal(type).default(type) : type,
      id: optionalId,
      attributes: z.preprocess((value) => value ?? {}, attributes),
      relationships: relationshipsOf(relationships ?? NO_RELATIONSHIPS) as unknown as R,
    }),
  })
}

const NO_RELATIONSHIPS = z.object({})

/** A relationship whose data is null counts as absent, since clients send all that they know, unless its schema accepts null as a removal. */
export function relationshipsOf<R extends z.ZodObject>(relationships: R) {
  const removable = new Set(
    Object.entries(relationships.shape).flatMap(([name, schema]) => (z.safeParse(schema, NONE).success ? name : [])),
  )
  return z.preprocess((body) => {
    if (body === null || body === undefined) return {}
    if (typeof body !== 'object' || Array.isArray(body)) return body
    return Object.fromEntries(
      Object.entries(body).flatMap(([name, relationship]: [string, { data?: unknown } | null]) => {
        if (relationship !== null && relationship?.data !== null) return [[name, relationship]]
        return removable.has(name) ? [[name, NONE]] : []
      }),
    )
  }, relationships)
}

const NONE = { data: null }

/** As `requestBody`, for endpoints that are called by hand: the body may also be the attributes alone. */
export function plainBody<A extends z.ZodType>(type: string, attributes: A) {
  return z.preprocess(
    (body) => {
      const isPlain = typeof body === 'object' && body !== null && !('data' in body)
      return isPlain ? { data: { type, attributes: body } } : body
    },
    requestBody(type, attributes),
  )
}

/** The body of an action, plain JSON `{"comment": "…"}` or nothing; parses to the comment. */
export const commentBody = z
  .object({ comment: z.string().max(10_000).nullish() })
  .nullish()
  .transform((body) => body?.comment ?? undefined)

export type Identifier = { id: string; type: string }
export type Relationship = {
  data?: Identifier | readonly Identifier[] | null
  links?: Record<string, string>
}
export type Resource = {
  id: string
  type: string
  attributes?: Record<string, unknown>
  relationships?: Record<string, Relationship>
  links?: Record<string, string>
}
