type Kinds = Record<string, 'text' | 'number' | 'flag'>
type Value<Kind> = Kind extends 'text' ? string : Kind extends 'number' ? number : true

/** The search parameters of a page. All are optional; invalid ones are dropped. */
export type SearchParams<K extends Kinds> = { [Name in keyof K]?: Value<K[Name]> | undefined }

/** A `validateSearch` function for the search parameters of a route. A flag is true or absent. */
export function searchParams<const K extends Kinds>(kinds: K) {
  // Invalid ones are present as undefined, since the router adds the result to the parameters of the address.
  return (search: Record<string, unknown>): SearchParams<K> =>
    Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, read(search[name], kind)])) as SearchParams<K>
}

function read(value: unknown, kind: Kinds[string]) {
  if (kind === 'flag') return value === true || value === 'true' || value === '' ? true : undefined
  if (kind === 'number') {
    const number = Number(value)
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  }
  // The router parses a text that looks like a number.
  return typeof value === 'string' || typeof value === 'number' ? String(value) || undefined : undefined
}
