import type { Ctx } from '../../../app.ts'
import { pipeline, readWithNext } from '../../../db/pipeline.ts'
import type { Overwrites, VariableSource } from '../variables/resource.ts'
import { openValue } from '../variables/service.ts'
import * as store from '../variables/store.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { type EffectiveSet, projectOf, selectEffectiveSets } from './store.ts'

/** A variable as the agent hands it to the engine, in plain text. */
type RunVariable = {
  key: string
  value: string
  hcl: boolean
  category: 'terraform' | 'env'
  sensitive: boolean
}

/** Resolves to the variables of a run; `runVariables` are its own: HCL literals, as the command lines send them. */
export type ResolveVariables = (runVariables: readonly { key: string; value: string }[]) => Promise<RunVariable[]>

/**
 * Reads the variables for a run of the workspace, with the next statement of a transaction. What is returned resolves them, decrypted, each
 * key of a category once by precedence, and is to be called once that statement has been executed. The caller has authorised the run.
 */
export async function readRunVariables(
  ctx: Ctx,
  { workspaceId, organizationId }: { workspaceId: string; organizationId: string },
): Promise<ResolveVariables> {
  const projectId = projectOf(workspaceId)
  const read = await readWithNext(ctx.db, sourceQueries(ctx, { workspaceId, projectId, organizationId }))
  return async (runVariables) => resolve(ctx, await withSources(ctx, await read()), runVariables)
}

function resolve(
  ctx: Ctx,
  stored: readonly SourcedRow[],
  runVariables: Parameters<ResolveVariables>[0],
): RunVariable[] {
  const own = runVariables.map(({ key, value }) => ({
    key,
    value,
    hcl: true,
    category: 'terraform' as const,
    sensitive: false,
    source: { kind: 'run' as const },
  }))
  return effectiveVariables([...stored, ...own]).map((variable) => ({
    key: variable.key,
    value: 'sealed_value' in variable ? openValue(ctx, variable) : variable.value,
    hcl: variable.hcl,
    category: variable.category,
    sensitive: variable.sensitive,
  }))
}

/**
 * The workspace's variables and those of sets that are in force there, each with those that it overwrites; `all` are those that
 * are overwritten, too.
 */
export async function listAllWorkspaceVariables(ctx: Ctx, workspaceId: string, { all }: { all: boolean }) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variables = await listWithSources(ctx, {
    workspaceId,
    projectId: workspace.project_id,
    organizationId: workspace.organization_id,
  })
  const overwrites = overwritesOf(variables)
  const shown = variables.flatMap((variable) => {
    const own = overwrites.get(variable.id)
    return own && (all || own.overwriter === null) ? [{ variable, overwrites: own }] : []
  })
  return shown.toSorted((a, b) => compareText(a.variable.key, b.variable.key))
}

function compareText(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Which variables overwrite which, by the id of each variable that is in force in the workspace or overwritten there.
 * The caller has authorised the workspace.
 */
export async function listOverwrites(
  ctx: Ctx,
  scope: { workspaceId: string; projectId: string; organizationId: string },
): Promise<Map<string, Overwrites>> {
  return overwritesOf(await listWithSources(ctx, scope))
}

function overwritesOf(variables: readonly SourcedRow[]): Map<string, Overwrites> {
  const overwrites = new Map<string, Overwrites>()
  for (const [first, ...rest] of byPrecedence(variables).values()) {
    if (!first) continue
    overwrites.set(first.id, { overwriter: null, overwritten: rest.map(({ id }) => id) })
    for (const { id } of rest) overwrites.set(id, { overwriter: first.id, overwritten: [] })
  }
  return overwrites
}

type SourcedRow = store.VariableRow & { source: Exclude<VariableSource, { kind: 'run' }> }

async function listWithSources(
  ctx: Ctx,
  scope: { workspaceId: string; projectId: string; organizationId: string },
): Promise<SourcedRow[]> {
  return withSources(ctx, await pipeline(ctx.db, sourceQueries(ctx, scope)))
}

/** The queries of the workspace's variables, and of the sets that are in force there. */
function sourceQueries(ctx: Ctx, scope: Parameters<typeof selectEffectiveSets>[0]) {
  return [store.selectVariables(ctx.db, { workspaceId: scope.workspaceId }), selectEffectiveSets(scope)] as const
}

async function withSources(
  ctx: Ctx,
  [own, sets]: readonly [readonly store.VariableRow[], readonly EffectiveSet[]],
): Promise<SourcedRow[]> {
  const sources = new Map(sets.map((set) => [set.id, set]))
  const ids = sets.map((set) => set.id)
  const inherited = ids.length === 0 ? [] : await store.listVariablesOfSets(ctx.db, ids)
  return [
    ...own.map((row) => ({ ...row, source: { kind: 'workspace' as const } })),
    ...inherited.flatMap((row) => {
      const set = sources.get(row.variable_set_id ?? '')
      return set ? [{ ...row, source: { kind: 'set' as const, ...set } }] : []
    }),
  ]
}

const SCOPES = { workspace: 0, project: 1, global: 2 }
type Scope = keyof typeof SCOPES

/** The variables that are in force, each key of a category once; see `byPrecedence`. */
export function effectiveVariables<V extends Sourced>(variables: readonly V[]) {
  return [...byPrecedence(variables).values()].flatMap(([first]) => first ?? [])
}

type Sourced = { key: string; category: string; source: VariableSource }

/**
 * The variables by category and key, each list with the one in force first. Priority sets take precedence over the
 * run's own variables, those over the workspace's, and those over the other sets. Among the other sets the narrower
 * scope wins; among priority sets the wider one, so that no one below can override what an organization enforces.
 * Within a scope the set whose name comes first wins (public documentation: variables, precedence).
 */
function byPrecedence<V extends Sourced>(variables: readonly V[]): Map<string, V[]> {
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
