import type { Ctx } from '../../../app.ts'
import { listSetsForRun } from '../variable-sets/service.ts'
import { requireWorkspace } from '../workspaces/service.ts'
import { byPrecedence, inForce, type VariableSource } from './precedence.ts'
import * as store from './store.ts'
import { openValue } from './values.ts'

/** A variable as the agent hands it to the engine, in the clear. */
export type RunVariable = {
  key: string
  value: string
  hcl: boolean
  category: 'terraform' | 'env'
  sensitive: boolean
}

/**
 * The variables of a run, decrypted, each key of a category once by precedence. `runVariables` are the run's own: HCL
 * literals, as the command lines send them. The caller has authorised the run.
 */
export async function resolveRunVariables(
  ctx: Ctx,
  run: {
    workspaceId: string
    projectId: string
    organizationId: string
    runVariables: readonly { key: string; value: string }[]
  },
): Promise<RunVariable[]> {
  const stored = await listWithSources(ctx, run)
  const own = run.runVariables.map(({ key, value }) => ({
    key,
    value,
    hcl: true,
    category: 'terraform' as const,
    sensitive: false,
    source: { kind: 'run' as const },
  }))
  return inForce([...stored, ...own]).map((variable) => ({
    key: variable.key,
    value: 'sealed_value' in variable ? openValue(ctx, variable) : variable.value,
    hcl: variable.hcl,
    category: variable.category,
    sensitive: variable.sensitive,
  }))
}

/** The workspace's variables and those of sets that are in force there. */
export async function listAllWorkspaceVariables(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variables = await listWithSources(ctx, {
    workspaceId,
    projectId: workspace.project_id,
    organizationId: workspace.organization_id,
  })
  return inForce(variables).toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

/**
 * What each variable in reach of a workspace (by id) gives way to, or takes the place of. The caller has authorised the
 * workspace.
 */
export async function listOverwrites(
  ctx: Ctx,
  scope: { workspaceId: string; projectId: string; organizationId: string },
): Promise<Map<string, Overwrites>> {
  const overwrites = new Map<string, Overwrites>()
  for (const [first, ...rest] of byPrecedence(await listWithSources(ctx, scope)).values()) {
    if (!first) continue
    overwrites.set(first.id, { overwriter: null, overwritten: rest.map(({ id }) => id) })
    for (const { id } of rest) overwrites.set(id, { overwriter: first.id, overwritten: [] })
  }
  return overwrites
}
export type Overwrites = { overwriter: string | null; overwritten: readonly string[] }

async function listWithSources(
  ctx: Ctx,
  scope: { workspaceId: string; projectId: string; organizationId: string },
): Promise<(store.VariableRow & { source: VariableSource })[]> {
  const [own, sets] = await Promise.all([
    store.listVariables(ctx.db, { workspaceId: scope.workspaceId }),
    listSetsForRun(ctx, scope),
  ])
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
