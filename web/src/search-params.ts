type Kinds = Record<string, 'text' | 'number' | 'flag'>
type Value<Kind> = Kind extends 'text' ? string : Kind extends 'number' ? number : true

/** The search parameters of a page: all of them optional, and those that make no sense are left out. */
export type SearchParams<K extends Kinds> = { [Name in keyof K]?: Value<K[Name]> | undefined }

/** Reads the search parameters of an address, for `validateSearch`. A flag is there or not. */
export function searchParams<const K extends Kinds>(kinds: K) {
  return (search: Record<string, unknown>): SearchParams<K> =>
    Object.fromEntries(
      Object.entries(kinds).flatMap(([name, kind]) => {
        const value = read(search[name], kind)
        return value === undefined ? [] : [[name, value]]
      }),
    ) as SearchParams<K>
}

function read(value: unknown, kind: Kinds[string]) {
  if (kind === 'flag') return value === true || value === 'true' || value === '' ? true : undefined
  if (kind === 'number') {
    const number = Number(value)
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  }
  // A text that looks like a number arrives as one.
  return typeof value === 'string' || typeof value === 'number' ? String(value) || undefined : undefined
}
