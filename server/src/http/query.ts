import { z } from 'zod'
import { invalidParameter } from '../errors.ts'

const TIME = z.union([z.iso.date(), z.iso.datetime({ offset: true })])

/** A text parameter of the query; undefined when absent or empty. Of repeated ones, the last value counts. */
export function readText(query: Record<string, unknown>, parameter: string): string | undefined {
  const text = [query[parameter]].flat().at(-1)
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

/** A comma-separated list; undefined when absent or empty. */
export function readList(query: Record<string, unknown>, parameter: string): string[] | undefined {
  const given = [query[parameter] ?? []].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
  const items = given.map((item) => item.trim()).filter((item) => item !== '')
  return items.length === 0 ? undefined : items
}

/** As `readList`, without leaving out what is empty between commas: it is a value that matches nothing. */
export function readValues(query: Record<string, unknown>, parameter: string): string[] | undefined {
  return readText(query, parameter)
    ?.split(',')
    .map((value) => value.trim())
}

/** A comma-separated list of `known` values; undefined when absent or empty. Throws `invalid` for anything else. */
export function readOneOf<Value extends string>(
  query: Record<string, unknown>,
  parameter: string,
  known: readonly Value[],
): Value[] | undefined {
  const given = readValues(query, parameter)
  const other = given?.find((text) => !known.some((value) => value === text))
  if (other !== undefined)
    throw invalidParameter(`${parameter} has ${JSON.stringify(other)}, it must be among ${known.join(', ')}`, parameter)
  // Each once and in one order, however they are given: they become part of a statement that the database keeps.
  return given && known.filter((value) => given.includes(value))
}

export function readBoolean(query: Record<string, unknown>, parameter: string): boolean | undefined {
  const text = readText(query, parameter)
  if (text === undefined) return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalidParameter(`${parameter} is ${JSON.stringify(text)}, it must be true or false`, parameter)
}

/**
 * An ISO 8601 timestamp, or a date: its beginning in UTC; undefined when absent or empty. Throws `invalid` for anything else,
 * such as a day that its month doesn't have.
 */
export function readTime(query: Record<string, unknown>, parameter: string): Date | undefined {
  const text = readText(query, parameter)
  if (text === undefined) return undefined
  if (TIME.safeParse(text).success) return new Date(text)
  const example = '2030-01-31T12:00:00.000Z'
  throw invalidParameter(`${parameter} is ${JSON.stringify(text)}, it must be a time such as ${example}`, parameter)
}

/** Reads `sort`: one of `names`, with an optional `-` for descending order. Throws `invalid` for anything else. */
export function readSort<Name extends string>(query: Record<string, unknown>, names: readonly Name[], preset: Name) {
  const text = readText(query, 'sort') ?? preset
  const descending = text.startsWith('-')
  const name = names.find((name) => name === text.replace(/^-/, ''))
  if (name !== undefined) return { name, descending }
  throw invalidParameter(
    `sort is ${JSON.stringify(text)}, it must be one of ${names.join(', ')}, or one with a - before it`,
    'sort',
  )
}
