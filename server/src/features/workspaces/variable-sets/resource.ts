import type { SetWorkspaceResource, VariableSetResource } from '@groundstate/contract/variable-sets'
import type { VariableResource } from '@groundstate/contract/variables'
import { type Overwrites, type VariableSource, variableResource } from '../variables/resource.ts'
import type { VariableRow } from '../variables/store.ts'
import type { SetWorkspaceRow, VariableSet } from './store.ts'

export function variableSetResource(set: VariableSet): VariableSetResource {
  const all = <const Type extends string>(ids: readonly string[], type: Type) => ({
    data: ids.map((id) => ({ id, type })),
  })
  return {
    id: set.id,
    type: 'varsets',
    attributes: {
      name: set.name,
      description: set.description,
      global: set.is_global,
      priority: set.priority,
      'created-at': set.created_at,
      'updated-at': set.updated_at,
      'var-count': set.variable_ids.length,
      'workspace-count': set.workspace_ids.length,
      'project-count': set.project_ids.length,
      'stack-count': 0,
      permissions: { 'can-update': set.canManage },
    },
    relationships: {
      organization: { data: { id: set.organization_name, type: 'organizations' } },
      parent: {
        data:
          set.project_id === null
            ? { id: set.organization_name, type: 'organizations' }
            : { id: set.project_id, type: 'projects' },
      },
      vars: all(set.variable_ids, 'vars'),
      workspaces: all(set.workspace_ids, 'workspaces'),
      projects: all(set.project_ids, 'projects'),
      stacks: all([], 'stacks'),
    },
    links: { self: `/api/v2/varsets/${set.id}` },
  }
}

export type SetWorkspace = SetWorkspaceRow & {
  overridden: SetWorkspaceResource['attributes']['overridden'] | undefined
}

export function setWorkspaceResource({ id, name, scope, project_id, overridden = null }: SetWorkspace) {
  return {
    id,
    type: 'varset-workspaces',
    attributes: { name, scope, overridden },
    relationships: {
      workspace: { data: { id, type: 'workspaces' } },
      project: { data: { id: project_id, type: 'projects' } },
    },
  } satisfies SetWorkspaceResource
}

export type EffectiveVariable = VariableRow & { source: Exclude<VariableSource, { kind: 'run' }> }

export function effectiveVariableResource(row: EffectiveVariable, overwrites: Overwrites): VariableResource {
  const resource = variableResource(row, overwrites)
  return { ...resource, attributes: { ...resource.attributes, 'in-force-by': sourceAttribute(row.source) } }
}

function sourceAttribute(source: EffectiveVariable['source']): VariableResource['attributes']['in-force-by'] {
  if (source.kind === 'workspace') return { kind: 'workspace' }
  const { kind, name, priority, scope } = source
  return { kind, name, priority, scope }
}
