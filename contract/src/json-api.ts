import { z } from 'zod'

/** A related resource in a body: `{"data": {"type": "…", "id": "…"}}`. */
export function toOne(type: string) {
  const form = `{"data": {"type": "${type}", "id": "…"}}`
  return z.object(
    { data: z.object({ type: z.literal(type), id: z.string().min(1) }) },
    { error: ({ input }) => (input === undefined ? `it must be ${form}` : undefined) },
  )
}

/** A name that is refused where it would be dropped as unknown: people who send it believe that it does something. */
export function misplaced(detail: string) {
  return z.never(detail).optional().describe(`refused: ${detail}`)
}

/** As `toOne`, and accepts `{"data": null}` for none. */
export function toOneOrNone(type: string) {
  return z.object({ data: toOne(type).shape.data.nullable() })
}

/** Related resources in a body: `{"data": [{"type": "…", "id": "…"}]}`. */
export function toMany(type: string) {
  return z.object({ data: z.array(z.object({ type: z.literal(type), id: z.string().min(1) })) })
}

/**
 * The body of a request in JSON:API. Unknown attributes are dropped, since existing clients send some. A body without
 * `attributes` counts as one with none. `types` are the accepted resource types, ours first.
 */
export function requestBody<A extends z.ZodType, R extends z.ZodType = typeof NO_RELATIONSHIPS>(
  types: string | readonly [string, ...string[]],
  attributes: A,
  relationships?: R,
) {
  return z.object({
    data: z.object({
      type: typeof types === 'string' ? z.literal(types) : z.literal([...types]),
      id: z.string().optional(),
      attributes: z.preprocess((value) => value ?? {}, attributes),
      relationships: z.preprocess((value) => value ?? {}, relationships ?? NO_RELATIONSHIPS) as unknown as R,
    }),
  })
}

const NO_RELATIONSHIPS = z.object({})

/** As `requestBody`, for endpoints that people call by hand: the body may also be the attributes alone. */
export function plainBody<A extends z.ZodType>(type: string, attributes: A) {
  return z.preprocess(
    (body) => {
      const isPlain = typeof body === 'object' && body !== null && !('data' in body)
      return isPlain ? { data: { type, attributes: body } } : body
    },
    requestBody(type, attributes),
  )
}

/** The body of a request on a relation: a list of resource identifiers. */
export function identifiersBody(type: string) {
  return toMany(type)
}

/** The body of an action: plain JSON, `{"comment": "…"}`, or nothing. */
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
