import type { ResourceCountsResource, WorkspaceResourceResource } from '@groundstate/contract/workspace-resources'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'

/** One instance of a resource in a workspace's current state, and the version that it is from. */
export type ListedResource = ExtractedInstance & { id: string; stateVersionId: string; since: Date }

export function workspaceResourceResource(instance: ListedResource): WorkspaceResourceResource {
  const since = instance.since.toISOString()
  return {
    id: instance.id,
    type: 'resources',
    attributes: {
      address: instance.address,
      name: instance.name,
      'created-at': since,
      'updated-at': since,
      module: instance.module,
      provider: instance.provider,
      'provider-type': instance.type,
      'modified-by-state-version-id': instance.stateVersionId,
      'name-index': instance.nameIndex,
      tainted: instance.tainted ?? null,
    },
  }
}

export type CountedName = { name: string; count: number }
/** How many instances the current state of a workspace has, by module and by type. */
export type ResourceCounts = { workspaceId: string; total: number; modules: CountedName[]; types: CountedName[] }

export function resourceCountsResource(counts: ResourceCounts): ResourceCountsResource {
  const { workspaceId, ...attributes } = counts
  return {
    id: workspaceId,
    type: 'resource-counts',
    attributes,
    relationships: { workspace: { data: { id: workspaceId, type: 'workspaces' } } },
    links: { self: `/api/v2/workspaces/${workspaceId}/resource-counts` },
  }
}
