import { z } from 'zod'
import { AppError, type ErrorKind } from '../errors.ts'

/**
 * The query parameters of a route by name. A name with the index `[0]`, such as `filter[tagged][0][key]`, is the
 * parameter with every index.
 */
export type QueryShape = Readonly<Record<string, z.ZodType>>

/** The parsed parameters; those with an index in their names are maps by index. */
export type Query<Shape extends QueryShape> = {
  [Name in keyof Shape]: Name extends `${string}[0]${string}`
    ? ReadonlyMap<string, z.output<Shape[Name]>>
    : z.output<Shape[Name]>
}

type Given = Readonly<Record<string, unknown>>

/** Registers a parameter whose refusal is of another kind than `invalid`: `schema.register(REFUSAL, { kind })`. */
export const REFUSAL = z.registry<{ kind: ErrorKind }>()

/** A parser of queries, made once for each route. It throws at the first parameter that its schema refuses, and ignores unknown ones. */
export function queryParser<Shape extends QueryShape>(shape: Shape): (given: Given) => Query<Shape> {
  const parameters = Object.entries(shape).map(([name, schema]) => {
    const absent = schema.safeParse(undefined)
    const parse = (given: unknown) => {
      const result = given === undefined ? absent : schema.safeParse(given)
      if (result.success) return result.data
      const kind = REFUSAL.get(schema)?.kind ?? 'invalid'
      throw new AppError(kind, [{ detail: `${name} ${result.error.issues[0]?.message}`, source: { parameter: name } }])
    }
    const pattern = name.includes('[0]') ? anyIndex(name) : undefined
    return { name, read: (given: Given) => (pattern ? parseIndexed(given, pattern, parse) : parse(given[name])) }
  })
  return (given) => {
    const query: Record<string, unknown> = {}
    for (const { name, read } of parameters) query[name] = read(given)
    return query as Query<Shape>
  }
}

/** Matches the names that have another index in the place of `[0]`. */
function anyIndex(name: string) {
  const escaped = name.replaceAll(/[[\]]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replace('0', String.raw`(\w*)`)}$`)
}

function parseIndexed(given: Given, pattern: RegExp, parse: (given: unknown) => unknown) {
  const byIndex = new Map<string, unknown>()
  for (const [name, value] of Object.entries(given)) {
    const index = pattern.exec(name)?.[1]
    if (index !== undefined) byIndex.set(index, parse(value))
  }
  return byIndex
}

/** The last of repeated values, without spaces around it; undefined when absent or empty. */
export function lastText(given: unknown) {
  const value: unknown = [given].flat().at(-1)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function splitText(given: unknown) {
  return lastText(given)
    ?.split(',')
    .map((value) => value.trim())
}

type Refusal = (given: string) => string

/** The message of an issue is what follows the name of the parameter in the error's detail. */
const refusedWith = (refusal: Refusal) => ({
  error: ({ input }: { input?: unknown }) => refusal(String(input)),
})

const mustBe =
  (rule: string): Refusal =>
  (given) =>
    `is ${JSON.stringify(given)}, it must be ${rule}`

/** A text; undefined when absent or empty. */
export function text() {
  return z.preprocess(lastText, z.string().optional())
}

/** For a parameter that has no default, in the documentation: `schema.meta(REQUIRED)`. */
export const REQUIRED = { param: { required: true } }

export function requiredText(missing = 'is missing') {
  return z.preprocess(lastText, z.string(missing)).meta(REQUIRED)
}

/** A text with its spaces; undefined when absent. */
export function exactText() {
  return z.preprocess((given) => [given].flat().at(-1), z.string().optional())
}

const COMMA_LIST = { param: { explode: false } }

/** Texts between commas, without empty ones; undefined when there is none. Repeated parameters are one list. */
export function textList() {
  const split = (given: unknown) => {
    const texts = [given ?? []].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
    const items = texts.map((text) => text.trim()).filter((text) => text !== '')
    return items.length === 0 ? undefined : items
  }
  return z.preprocess(split, z.array(z.string()).optional()).meta(COMMA_LIST)
}

/** Texts between commas; undefined when absent or empty. An empty text between commas is a value that matches nothing. */
export function exactList() {
  return z.preprocess(splitText, z.array(z.string()).optional()).meta(COMMA_LIST)
}

/** Some of `values`, separated by commas; undefined when absent or empty. */
export function listOf<const Value extends string>(values: readonly Value[]) {
  const refusal: Refusal = (given) => `has ${JSON.stringify(given)}, it must be among ${values.join(', ')}`
  const list = z.array(z.enum(values, refusedWith(refusal)))
  return (
    z
      .preprocess(splitText, list.optional())
      // Each once and in one order, however they are given: they become part of a statement that the database keeps.
      .transform((given: readonly string[] | undefined) => given && values.filter((value) => given.includes(value)))
      .meta(COMMA_LIST)
  )
}

/** One of `values`; undefined when absent or empty. */
export function oneOf<const Value extends string>(
  values: readonly Value[],
  refusal = mustBe(`one of ${values.join(', ')}`),
) {
  return z.preprocess(lastText, z.enum(values, refusedWith(refusal)).optional())
}

export function boolean() {
  const values: Record<string, boolean> = { true: true, false: false }
  return z.preprocess(
    (given) => {
      const text = lastText(given)
      return text === 'true' || text === 'false' ? values[text] : text
    },
    z.boolean(refusedWith(mustBe('true or false'))).optional(),
  )
}

/** An ISO 8601 timestamp, or a date: its beginning in UTC; undefined when absent or empty. */
export function time() {
  const texts = z.union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    refusedWith(mustBe('a time such as 2030-01-31T12:00:00.000Z')),
  )
  return z.preprocess(lastText, texts.optional()).transform((text) => (text === undefined ? undefined : new Date(text)))
}

/** A whole number from 0; undefined when absent or not a number. */
export function count() {
  const read = (given: unknown) => (typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : undefined)
  return z.preprocess(read, z.int().min(0).optional())
}

/** The order of a list: one of `names`, with a `-` before it when descending. */
export function sortBy<const Name extends string>(
  names: readonly Name[],
  preset: NoInfer<Name | `-${Name}`>,
  refusal = mustBe(`one of ${names.join(', ')}, or one with a - before it`),
) {
  const values = names.flatMap((name): string[] => [name, `-${name}`])
  return z.preprocess(lastText, z.enum(values, refusedWith(refusal)).default(preset)).transform((text) => ({
    name: text.replace(/^-/, '') as Name,
    descending: text.startsWith('-'),
  }))
}
