import { MAX_ITEMS } from '@groundstate/contract/json-api'
import { z } from 'zod'
import { AppError, type ErrorKind } from '../errors.ts'

/** The query parameters of a route by name. A name with the index `[0]`, such as `filter[tagged][0][key]`, matches every index. */
export type QueryShape = Readonly<Record<string, z.ZodType>>

/** The parsed parameters; indexed ones are maps by index. */
export type Query<Shape extends QueryShape> = {
  [Name in keyof Shape]: Name extends `${string}[0]${string}`
    ? ReadonlyMap<string, z.output<Shape[Name]>>
    : z.output<Shape[Name]>
}

type RawQuery = Readonly<Record<string, unknown>>

/** Registers a parameter whose error kind is not `invalid`: `schema.register(REFUSAL, { kind })`. */
export const REFUSAL = z.registry<{ kind: ErrorKind }>()

/** Creates the parser of a route's queries, which throws for the first invalid parameter and ignores unknown ones. */
export function queryParser<Shape extends QueryShape>(shape: Shape): (query: RawQuery) => Query<Shape> {
  const parameters = Object.entries(shape).map(([name, schema]) => {
    const absent = schema.safeParse(undefined)
    const parse = (value: unknown) => {
      const result = value === undefined ? absent : schema.safeParse(value)
      if (result.success) return result.data
      const kind = REFUSAL.get(schema)?.kind ?? 'invalid'
      throw new AppError(kind, [{ detail: `${name} ${result.error.issues[0]?.message}`, source: { parameter: name } }])
    }
    const pattern = name.includes('[0]') ? anyIndex(name) : undefined
    return { name, read: (query: RawQuery) => (pattern ? parseIndexed(query, pattern, parse) : parse(query[name])) }
  })
  return (query) => Object.fromEntries(parameters.map(({ name, read }) => [name, read(query)])) as Query<Shape>
}

function anyIndex(name: string) {
  const escaped = name.replaceAll(/[[\]]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replace('0', String.raw`(\w*)`)}$`)
}

function parseIndexed(query: RawQuery, pattern: RegExp, parse: (value: unknown) => unknown) {
  const byIndex = new Map<string, unknown>()
  for (const [name, value] of Object.entries(query)) {
    const index = pattern.exec(name)?.[1]
    if (index !== undefined) byIndex.set(index, parse(value))
  }
  return byIndex
}

/** The trimmed last of repeated values; undefined if absent or empty. */
export function lastText(values: unknown) {
  const value: unknown = [values].flat().at(-1)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function splitText(values: unknown) {
  return lastText(values)
    ?.split(',')
    .map((value) => value.trim())
}

/** The message for a value; it follows the name of the parameter in the error's detail. */
type Rejection = (value: string) => string

const rejectedWith = (rejection: Rejection) => ({ error: ({ input }: { input?: unknown }) => rejection(String(input)) })

function mustBe(rule: string): Rejection {
  return (value) => `is ${JSON.stringify(value)}; it must be ${rule}`
}

/** A text; undefined if absent or empty. */
export function text() {
  return z.preprocess(lastText, z.string().optional())
}

/** Documents a parameter as required: `schema.meta(REQUIRED)`. */
export const REQUIRED = { param: { required: true } }

export function requiredText(missing = 'is missing') {
  return z.preprocess(lastText, z.string(missing)).meta(REQUIRED)
}

/** An untrimmed text; undefined if absent. */
export function exactText() {
  return z.preprocess((values) => [values].flat().at(-1), z.string().optional())
}

function itemsOf<Item extends z.ZodType>(item: Item) {
  const error = ({ input }: { input?: unknown }) =>
    `has ${(input as unknown[]).length} items; it must have at most ${MAX_ITEMS}`
  return z.array(item).max(MAX_ITEMS, { error })
}

const COMMA_LIST = { param: { explode: false } }

/** Comma-separated texts without empty ones; undefined for none. Repeated parameters form one list. */
export function textList() {
  const split = (values: unknown) => {
    const texts = [values ?? []].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
    const items = texts.map((text) => text.trim()).filter((text) => text !== '')
    return items.length === 0 ? undefined : items
  }
  return z.preprocess(split, itemsOf(z.string()).optional()).meta(COMMA_LIST)
}

/** Comma-separated texts; undefined if absent or empty. An empty text between commas is kept and matches nothing. */
export function exactList() {
  return z.preprocess(splitText, itemsOf(z.string()).optional()).meta(COMMA_LIST)
}

/** A comma-separated subset of `values`; undefined if absent or empty. `unused` are accepted too, and match nothing. */
export function listOf<const Value extends string>(values: readonly Value[], unused: readonly string[] = []) {
  const rejection: Rejection = (value) => `has ${JSON.stringify(value)}; it must be one of ${values.join(', ')}`
  const list = itemsOf(z.enum([...values, ...unused], rejectedWith(rejection)))
  return (
    z
      .preprocess(splitText, list.optional())
      // Normalised, since the values become part of a prepared statement.
      .transform((items: readonly string[] | undefined) => items && values.filter((value) => items.includes(value)))
      .meta(COMMA_LIST)
  )
}

/** One of `values`; undefined if absent or empty. */
export function oneOf<const Value extends string>(
  values: readonly Value[],
  rejection = mustBe(`one of ${values.join(', ')}`),
) {
  return z.preprocess(lastText, z.enum(values, rejectedWith(rejection)).optional())
}

export function boolean() {
  const read = (values: unknown) => {
    const text = lastText(values)
    return text === 'true' || text === 'false' ? text === 'true' : text
  }
  return z.preprocess(read, z.boolean(rejectedWith(mustBe('true or false'))).optional())
}

/** An ISO 8601 timestamp, or a date for its start in UTC; undefined if absent or empty. */
export function time() {
  const texts = z.union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    rejectedWith(mustBe('a time such as 2030-01-31T12:00:00.000Z')),
  )
  return z.preprocess(lastText, texts.optional()).transform((text) => (text === undefined ? undefined : new Date(text)))
}

/** A whole number from 0; undefined if absent or not a number. */
export function count() {
  const read = (value: unknown) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined)
  return z.preprocess(read, z.int().min(0).optional())
}

/** The order of a list: one of `names`, prefixed with `-` if descending. */
export function sortBy<const Name extends string>(
  names: readonly Name[],
  preset: NoInfer<Name | `-${Name}`>,
  rejection = mustBe(`one of ${names.join(', ')}, or one with a - before it`),
) {
  const values = names.flatMap((name): string[] => [name, `-${name}`])
  return z.preprocess(lastText, z.enum(values, rejectedWith(rejection)).default(preset)).transform((text) => ({
    name: text.replace(/^-/, '') as Name,
    descending: text.startsWith('-'),
  }))
}
