import type { WorkspaceReadmeResource } from '@groundstate/contract/workspace-resources'
import type { ReadmeRow } from './store.ts'

type Found = { workspaceId: string; versionId: string; row: ReadmeRow }

export function workspaceReadmeResource({ workspaceId, versionId, row }: Found): WorkspaceReadmeResource {
  return {
    id: workspaceId,
    type: 'workspace-readmes',
    attributes: { path: row.path ?? '', 'raw-markdown': row.markdown ?? '', 'is-cut': row.is_cut },
    relationships: {
      workspace: { data: { id: workspaceId, type: 'workspaces' } },
      'configuration-version': { data: { id: versionId, type: 'configuration-versions' } },
    },
    links: { self: `/api/v2/workspaces/${workspaceId}/readme` },
  }
}
