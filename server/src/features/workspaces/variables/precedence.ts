/** Where a variable that a run sees comes from. */
export type VariableSource =
  | { kind: 'run' }
  | { kind: 'workspace' }
  | { kind: 'set'; name: string; priority: boolean; scope: 'workspace' | 'project' | 'global' }

const SCOPES = { workspace: 0, project: 1, global: 2 }
type Scope = keyof typeof SCOPES

/** The variable that overwrites one, and those that it overwrites; each by its id. */
export type Overwrites = { overwriter: string | null; overwritten: readonly string[] }

/** The variables that are in force, each key of a category once; see `byPrecedence`. */
export function inForce<V extends Sourced>(variables: readonly V[]) {
  return [...byPrecedence(variables).values()].flatMap(([first]) => first ?? [])
}

type Sourced = { key: string; category: string; source: VariableSource }

/**
 * The variables by category and key, each list with the one in force first. Priority sets take precedence over the
 * run's own variables, those over the workspace's, and those over the other sets. Among the other sets the narrower
 * scope wins; among priority sets the wider one, so that nobody below can override what an organization enforces.
 * Within a scope the set whose name comes first wins (public documentation: variables, precedence).
 */
export function byPrecedence<V extends Sourced>(variables: readonly V[]): Map<string, V[]> {
  const sorted = variables.toSorted((a, b) => compare(a.source, b.source))
  return Map.groupBy(sorted, (variable) => `${variable.category}/${variable.key}`)
}

function compare(a: VariableSource, b: VariableSource) {
  const byRank = rank(a) - rank(b)
  if (byRank !== 0 || a.kind !== 'set' || b.kind !== 'set') return byRank
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

function rank(source: VariableSource) {
  if (source.kind === 'run') return 10
  if (source.kind === 'workspace') return 20
  const scope: Scope = source.scope
  return source.priority ? SCOPES.global - SCOPES[scope] : 30 + SCOPES[scope]
}
