import type { RegistryUsageResource } from '@groundstate/contract/registry-modules'
import { listAll } from '../../../http/responses.ts'
import type { Use } from './store.ts'

/** The uses of a module or provider: those in workspaces that the caller may see, and the numbers of the others. */
export function listUsages(uses: readonly Use[]) {
  const visible = uses.flatMap(({ workspace_name: name, ...use }) => (name === null ? [] : usageResource(use, name)))
  const hidden = uses.filter((use) => use.workspace_name === null)
  const byVersion = [...Map.groupBy(hidden, ({ version }) => version)]
  const { status, document } = listAll(visible)
  const { meta, ...rest } = document as { meta: object }
  const counts = {
    'hidden-count': new Set(hidden.map((use) => use.workspace_id)).size,
    'hidden-versions': byVersion.map(([version, { length }]) => ({ version, 'workspace-count': length })),
  }
  return { status, document: { ...rest, meta: { ...meta, ...counts } } }
}

function usageResource(use: Omit<Use, 'workspace_name'>, name: string): RegistryUsageResource {
  const { workspace_id: id, version, used_at: usedAt } = use
  return {
    id: version === null ? id : `${id}-${version}`,
    type: 'registry-usages',
    attributes: { 'workspace-name': name, version, 'used-at': usedAt },
    relationships: { workspace: { data: { id, type: 'workspaces' } } },
  }
}
