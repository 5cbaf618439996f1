/** A list of strings declares a parameter that is a comma-separated subset of them. */
type Kinds = Record<string, 'text' | 'number' | 'flag' | readonly string[]>
type Value<Kind> = Kind extends 'number' ? number : Kind extends 'flag' ? true : string

/** The search parameters of a page. All are optional; invalid ones and invalid items are dropped. */
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
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  const items = kind === 'text' ? [text] : text.split(',').filter((item) => kind.includes(item))
  return items.join(',') || undefined
}
