import type { Resource } from '@groundstate/contract/json-api'
import type { Loader } from '../../../http/loaders.ts'
import { openOutput } from '../state-versions/sealed-outputs.ts'
import { stateVersionOutputResource, workspaceOutputResource } from './resource.ts'
import { listCurrentOutputsOf, listOutputsOf } from './store.ts'

export const stateVersionOutputLoaders: readonly Loader[] = [
  {
    // Sensitive outputs show their values: a caller who sees a version may read the state itself.
    of: 'state-versions',
    relation: 'outputs',
    isSecret: true,
    load: async (ctx, versions) => {
      // A soft-deleted version still has its outputs, but they can't be read, like the rest of its content.
      const ids = versions.flatMap(({ id, attributes }) => (attributes?.['status'] === 'finalized' ? id : []))
      const outputs = Map.groupBy(await listOutputsOf(ctx.db, ids), (row) => row.state_version_id)
      return new Map(
        ids.map((id) => [id, (outputs.get(id) ?? []).map((row) => stateVersionOutputResource(openOutput(ctx, row)))]),
      )
    },
  },
  {
    of: 'workspaces',
    relation: 'outputs',
    load: async (ctx, workspaces) => {
      const readable = workspaces.filter(permitsOutputs).map(({ id }) => id)
      const outputs = Map.groupBy(await listCurrentOutputsOf(ctx.db, readable), (row) => row.workspace_id)
      return new Map(
        workspaces.map(({ id }) => [
          id,
          (outputs.get(id) ?? []).map((row) => workspaceOutputResource(openOutput(ctx, row))),
        ]),
      )
    },
  },
]

function permitsOutputs(workspace: Resource) {
  const permissions = workspace.attributes?.['permissions'] as { 'can-read-state-outputs': boolean }
  return permissions['can-read-state-outputs']
}
