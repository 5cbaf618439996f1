import { z } from 'zod'

/*
 * Builders for the schemas of responses. A schema's input is the JSON on the wire (`Wire<typeof x>`), for clients and tests.
 * Its output is what the server serialises (`Written<typeof x>`), where a time may be a Date.
 */

export type Wire<Schema extends z.ZodType> = z.input<Schema>
export type Written<Schema extends z.ZodType> = z.output<Schema>

/** A point in time; ISO 8601 on the wire. */
export const timestamp = z.codec(z.iso.datetime({ offset: true }), z.union([z.date(), z.string()]), {
  decode: (text) => text,
  encode: (value) => (typeof value === 'string' ? value : value.toISOString()),
})

export const nullable = {
  string: z.string().nullable(),
  int: z.int().nullable(),
  time: timestamp.nullable(),
}
/** A flag of a feature that this server does not have. */
export const unsupported = z.boolean().describe('always false: not supported by this server')

/** The time at which each status was reached, by names such as `planned-at`. */
export const statusTimestamps = z.record(z.string(), timestamp)

const relationLinks = z.record(z.string(), z.string()).optional()

function identifier<const Type extends string>(...types: readonly [Type, ...Type[]]) {
  return z.strictObject({ id: z.string(), type: z.literal([...types]) })
}

/** A relation to one resource, or to none: `{"data": {…} | null}`. */
export function hasOne<const Type extends string>(...types: readonly [Type, ...Type[]]) {
  return z.strictObject({ data: identifier(...types).nullable(), links: relationLinks })
}

/** A relation to any number of resources: `{"data": [{…}]}`. */
export function hasMany<const Type extends string>(...types: readonly [Type, ...Type[]]) {
  return z.strictObject({ data: z.array(identifier(...types)), links: relationLinks })
}

/** A relation shown as a link; its `data` appear when it is included. */
export function linksToMany<const Type extends string>(...types: readonly [Type, ...Type[]]) {
  return hasMany(...types).partial()
}

/** As `linksToMany`, for a relation to one resource. */
export function linksToOne<const Type extends string>(...types: readonly [Type, ...Type[]]) {
  return hasOne(...types).partial()
}

type Members = { name?: string; attributes?: z.ZodRawShape; relationships?: z.ZodRawShape; links?: z.ZodRawShape }
type ResourceShape<Type extends string, M extends Members> = {
  id: z.ZodString
  type: z.ZodLiteral<Type>
} & { [Key in Exclude<keyof M, 'name'>]: M[Key] extends z.ZodRawShape ? z.ZodObject<M[Key], z.core.$strict> : never }

/** Unknown members are errors. `name` is for the OpenAPI document, by default the singular of the type (`state-versions` → `StateVersion`). */
export function resource<const Type extends string, const M extends Members>(
  type: Type,
  { name = componentName(type), ...members }: M,
) {
  const objects = Object.entries(members).map(([member, fields]) => [member, z.strictObject(fields)])
  const schema = z.strictObject({ id: z.string(), type: z.literal(type), ...Object.fromEntries(objects) })
  return schema.meta({ id: name }) as unknown as z.ZodObject<ResourceShape<Type, M>, z.core.$strict>
}

const selfLink = { links: { self: z.string() } }

/** A resource with one link, to itself. */
export function linkedResource<const Type extends string, const M extends Omit<Members, 'links'>>(
  type: Type,
  members: M,
) {
  return resource<Type, M & typeof selfLink>(type, { ...members, ...selfLink })
}

function componentName(type: string) {
  const singular = type.replace(/ies$/, 'y').replace(/s$/, '')
  return singular.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** A document with one resource. The route adds `included` from its include table. */
export function documentOf<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ data })
}

const pagination = z.strictObject({
  'current-page': z.int(),
  'page-size': z.int(),
  'prev-page': nullable.int,
  'next-page': nullable.int,
  'total-pages': z.int(),
  'total-count': z.int(),
})

const pageLinks = z.strictObject({
  self: z.string(),
  first: z.string(),
  prev: nullable.string,
  next: nullable.string,
  last: z.string(),
})

/** A page of a list, with its links and `meta.pagination`. */
export function pageOf<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ data: z.array(data), links: pageLinks, meta: z.strictObject({ pagination }) })
}

/** A list that is never split; clients that read `meta.pagination` see a single page. */
export function wholeListOf<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ data: z.array(data), meta: z.strictObject({ pagination }) })
}

/** A page of a list without a total (public documentation: `pagination-without-totals`). */
export function uncountedPageOf<Data extends z.ZodType>(data: Data) {
  return z.strictObject({
    data: z.array(data),
    links: pageLinks.omit({ last: true }),
    meta: z.strictObject({ pagination: pagination.omit({ 'total-pages': true, 'total-count': true }) }),
  })
}

/** One error. `status` is a string: Go clients cannot decode a number there. */
export const errorObject = z
  .strictObject({
    status: z.string().regex(/^[1-5]\d\d$/),
    title: z.string().describe('the same for all errors of this status'),
    detail: z.string().describe('what is wrong and what is expected; names the value'),
    source: z
      .strictObject({
        pointer: z.string().optional().describe('JSON pointer into the body'),
        parameter: z.string().optional().describe('name of the query parameter'),
      })
      .optional(),
  })
  .meta({ id: 'Error' })

export const errorsDocument = z.strictObject({ errors: z.array(errorObject).min(1) }).meta({ id: 'Errors' })
export type ErrorsDocument = Written<typeof errorsDocument>

type WithIncluded<Included extends z.ZodType> = { included?: Wire<Included>[] }

/** A document with one resource and its included resources, as clients read it. */
export type DocumentOnWire<Data extends z.ZodType, Included extends z.ZodType = z.ZodNever> = {
  data: Wire<Data>
} & WithIncluded<Included>

/** As `DocumentOnWire`, for a page of a list. */
export type PageOnWire<Data extends z.ZodType, Included extends z.ZodType = z.ZodNever> = {
  data: Wire<Data>[]
  meta: { pagination: Wire<typeof pagination> }
} & WithIncluded<Included>
