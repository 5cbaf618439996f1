import { badRequest } from '../errors.ts'

/**
 * Reads the `include` parameter: a comma list of relations in snake case (kebab case is accepted too). Throws
 * `bad-request` for one that the endpoint does not offer; clients look for the words `Invalid include parameter`.
 */
export function readIncludes<Name extends string>(query: Record<string, unknown>, offered: readonly Name[]): Set<Name> {
  if (query['include'] === undefined) return new Set()
  const given = [query['include']].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
  const names = given.map((name) => name.trim().replaceAll('-', '_')).filter((name) => name !== '')
  const byName = new Map(offered.map((name) => [name.replaceAll('-', '_'), name]))
  return new Set(
    names.map((name) => {
      const known = byName.get(name)
      if (known !== undefined) return known
      const choice = offered.length === 0 ? 'this endpoint offers none' : `it must be among ${offered.join(', ')}`
      throw badRequest(`Invalid include parameter: ${name}, ${choice}`, 'include')
    }),
  )
}
