import { badRequest } from '../errors.ts'

/**
 * Reads the `include` parameter: a comma-separated list of paths in snake case (kebab case is accepted too). The result
 * has the order of `offered`. Throws `bad-request` for an unknown path; clients match on `Invalid include parameter`.
 */
export function readIncludes(query: Record<string, unknown>, offered: readonly string[]): ReadonlySet<string> {
  if (query['include'] === undefined) return NONE
  const given = [query['include']].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
  const names = new Set(given.map(snakeCase).filter((name) => name !== ''))
  const known = new Set(offered.map(snakeCase))
  for (const name of names) {
    if (known.has(name)) continue
    const choice = offered.length === 0 ? 'this endpoint offers none' : `it must be among ${offered.join(', ')}`
    throw badRequest(`Invalid include parameter: ${name}, ${choice}`, 'include')
  }
  return new Set(offered.filter((name) => names.has(snakeCase(name))))
}

const NONE: ReadonlySet<string> = new Set()

function snakeCase(path: string) {
  return path.trim().replaceAll('-', '_')
}
