import type { Ctx } from '../../../app.ts'
import { pipeline, readWithNext } from '../../../db/pipeline.ts'
import type { Overwrites, VariableSource } from '../variables/resource.ts'
import { openValue } from '../variables/service.ts'
import * as store from '../variables/store.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import type { EffectiveVariable } from './resource.ts'
import { type EffectiveSet, type WorkspaceScope, listEffectiveSets, projectOf, selectEffectiveSets } from './store.ts'

type RunVariable = { key: string; value: string } & Pick<store.VariableRow, 'hcl' | 'category' | 'sensitive'>

/** Resolves to the variables of a run. `runVariables` are set on the run itself: HCL literals, as the CLI sends them. */
export type ResolveVariables = (runVariables: readonly { key: string; value: string }[]) => Promise<RunVariable[]>

/**
 * Reads the variables for a run of the workspace, with the next statement of a transaction. Call the returned function after that
 * statement: it resolves to the decrypted variables, one for each key of a category. The caller has authorised the run.
 */
export async function readRunVariables(
  ctx: Ctx,
  { workspaceId, organizationId }: { workspaceId: string; organizationId: string },
): Promise<ResolveVariables> {
  const projectId = projectOf(workspaceId)
  const read = await readWithNext(ctx.db, sourceQueries(ctx, { workspaceId, projectId, organizationId }))
  return async (runVariables) => {
    const ofRun = runVariables.map((variable) => ({
      ...variable,
      hcl: true,
      category: 'terraform' as const,
      sensitive: false,
      source: { kind: 'run' as const },
    }))
    return effectiveVariables([...(await withSources(ctx, await read())), ...ofRun]).map((variable) =>
      openedVariable(ctx, variable),
    )
  }
}

/** The decrypted variables of a run that has none of its own, for rules about them: never to be shown. The caller has authorised the workspace. */
export async function listRunVariables(ctx: Ctx, scope: WorkspaceScope): Promise<RunVariable[]> {
  return effectiveVariables(await listWithSources(ctx, scope)).map((variable) => openedVariable(ctx, variable))
}

function openedVariable(ctx: Ctx, variable: RunVariable | EffectiveVariable): RunVariable {
  const { key, hcl, category, sensitive } = variable
  const value = 'sealed_value' in variable ? openValue(ctx, variable) : variable.value
  return { key, value, hcl, category, sensitive }
}

/** The effective variables of the workspace with those that they overwrite; with `all`, also the overwritten ones. */
export async function listAllWorkspaceVariables(ctx: Ctx, workspaceId: string, { all }: { all: boolean }) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const scope = { workspaceId, projectId: workspace.project_id, organizationId: workspace.organization_id }
  const variables = await listWithSources(ctx, scope)
  const byId = overwritesOf(variables)
  const shown = variables.flatMap((variable) => {
    const overwrites = byId.get(variable.id)
    return overwrites && (all || overwrites.overwriter === null) ? [{ variable, overwrites }] : []
  })
  return shown.toSorted((a, b) => compareText(a.variable.key, b.variable.key))
}

function compareText(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Overwrites of the workspace by variable id. The caller has authorised the workspace. */
export async function listOverwrites(ctx: Ctx, scope: WorkspaceScope): Promise<Map<string, Overwrites>> {
  return overwritesOf(await listWithSources(ctx, scope))
}

function overwritesOf(variables: readonly EffectiveVariable[]): Map<string, Overwrites> {
  const overwrites = new Map<string, Overwrites>()
  for (const [first, ...rest] of byPrecedence(variables).values()) {
    if (!first) continue
    overwrites.set(first.id, { overwriter: null, overwritten: rest.map(({ id }) => id) })
    for (const { id } of rest) overwrites.set(id, { overwriter: first.id, overwritten: [] })
  }
  return overwrites
}

/** Source that overrides a variable: the name of a set; null for the workspace itself. */
type Override = { key: string; category: store.VariableRow['category']; by: string | null }

/** The variables of the set that others override, by the id of the workspace. The caller has authorised set and workspaces. */
export async function listOverridesOfSet(ctx: Ctx, setId: string, workspaceIds: readonly string[]) {
  const sets = Map.groupBy(await listEffectiveSets(ctx.db, workspaceIds), (set) => set.workspace_id)
  const setIds = [...new Set([...sets.values()].flat().map(({ id }) => id))]
  const rows = await store.listVariablesWithKeysOf(ctx.db, setId, { workspaceIds, setIds })
  const own = Map.groupBy(rows, (row) => row.workspace_id)
  const inherited = Map.groupBy(rows, (row) => row.variable_set_id)
  const overridesIn = (id: string) => {
    const ofSets = (sets.get(id) ?? []).flatMap((set) =>
      (inherited.get(set.id) ?? []).map((row) => [row, set] as const),
    )
    const lists = byPrecedence(sourced(own.get(id) ?? [], ofSets)).values()
    return [...lists].flatMap(([first, ...rest]): Override[] => {
      if (!first || !rest.some((row) => row.variable_set_id === setId)) return []
      const { key, category, source } = first
      return [{ key, category, by: source.kind === 'set' ? source.name : null }]
    })
  }
  return new Map(workspaceIds.map((id) => [id, overridesIn(id)]))
}

async function listWithSources(ctx: Ctx, scope: WorkspaceScope) {
  return withSources(ctx, await pipeline(ctx.db, sourceQueries(ctx, scope)))
}

function sourceQueries(ctx: Ctx, scope: WorkspaceScope) {
  return [store.selectVariables(ctx.db, { workspaceId: scope.workspaceId }), selectEffectiveSets(scope)] as const
}

async function withSources(ctx: Ctx, [own, sets]: readonly [readonly store.VariableRow[], readonly EffectiveSet[]]) {
  const sources = new Map(sets.map((set) => [set.id, set]))
  const inherited = sets.length === 0 ? [] : await store.listVariablesOfSets(ctx.db, [...sources.keys()])
  return sourced(
    own,
    inherited.flatMap((row) => {
      const set = sources.get(row.variable_set_id ?? '')
      return set ? [[row, set] as const] : []
    }),
  )
}

function sourced<Row>(own: readonly Row[], inherited: readonly (readonly [variable: Row, set: EffectiveSet])[]) {
  return [
    ...own.map((row) => ({ ...row, source: { kind: 'workspace' as const } })),
    ...inherited.map(([row, set]) => ({ ...row, source: { kind: 'set' as const, ...set } })),
  ]
}

type Sourced = { key: string; category: string; source: VariableSource }

/** The effective variables, one for each key of a category; see `byPrecedence`. */
export function effectiveVariables<V extends Sourced>(variables: readonly V[]) {
  return [...byPrecedence(variables).values()].flatMap(([first]) => first ?? [])
}

/**
 * The variables by category and key, the effective one first in each list. Priority sets take precedence over the run's own variables,
 * those over the workspace's, and those over the other sets. Among the other sets the narrower scope wins; among priority sets the wider
 * one, so that nothing can override what an organization enforces. Within a scope the set whose name sorts first wins (public
 * documentation: variables, precedence).
 */
function byPrecedence<V extends Sourced>(variables: readonly V[]): Map<string, V[]> {
  const sorted = variables.toSorted((a, b) => compareSources(a.source, b.source))
  return Map.groupBy(sorted, (variable) => `${variable.category}/${variable.key}`)
}

function compareSources(a: VariableSource, b: VariableSource) {
  const byRank = rank(a) - rank(b)
  return byRank !== 0 || a.kind !== 'set' || b.kind !== 'set' ? byRank : compareText(a.name, b.name)
}

const SCOPE_RANKS = { workspace: 0, project: 1, global: 2 }

function rank(source: VariableSource) {
  if (source.kind === 'run') return 10
  if (source.kind === 'workspace') return 20
  const scope = SCOPE_RANKS[source.scope]
  return source.priority ? SCOPE_RANKS.global - scope : 30 + scope
}
