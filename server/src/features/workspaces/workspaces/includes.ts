import type { Resource } from '@groundstate/contract/json-api'
import type { Loader } from '../../../http/loaders.ts'
import { effectiveTagBindingResource } from '../../organizations/tags/resource.ts'
import { variableResource } from '../variables/resource.ts'
import { listVariablesOfWorkspaces } from '../variables/store.ts'
import { listEffectiveTagBindings } from '../workspace-tags/list-bindings.ts'
import { listReadableWorkspaces } from './access.ts'
import type { permissionsBlock } from './permissions.ts'
import { workspaceResource } from './resource.ts'

export const workspaceLoaders: readonly Loader[] = [
  {
    type: 'workspaces',
    load: async (ctx, ids) => (await listReadableWorkspaces(ctx, ids)).map((workspace) => workspaceResource(workspace)),
  },
  {
    of: 'workspaces',
    relation: 'vars',
    load: async (ctx, workspaces) => {
      const rows = await listVariablesOfWorkspaces(ctx.db, permitting(workspaces, 'can-read-variable'))
      const variables = Map.groupBy(rows, (row) => row.workspace_id)
      return forEach(workspaces, (id) => (variables.get(id) ?? []).map((row) => variableResource(row)))
    },
  },
  {
    of: 'workspaces',
    relation: 'effective-tag-bindings',
    load: async (ctx, workspaces) => {
      const bindings = await listEffectiveTagBindings(
        ctx,
        workspaces.map(({ id }) => id),
      )
      return forEach(workspaces, (id) => (bindings.get(id) ?? []).map(effectiveTagBindingResource))
    },
  },
]

/** The ids of the workspaces that tell the caller of this permission. */
function permitting(workspaces: readonly Resource[], permission: keyof ReturnType<typeof permissionsBlock>) {
  return workspaces.flatMap(({ id, attributes }) => {
    const permissions = attributes?.['permissions'] as ReturnType<typeof permissionsBlock>
    return permissions[permission] ? id : []
  })
}

function forEach(workspaces: readonly Resource[], related: (id: string) => Resource[]) {
  return new Map(workspaces.map(({ id }) => [id, related(id)]))
}
