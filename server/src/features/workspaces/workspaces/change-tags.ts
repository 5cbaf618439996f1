import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { TransactionCtx } from '../../../app.ts'
import { replaceTagBindings } from '../../organizations/tags/bind.ts'
import { addFlatTags } from '../workspace-tags/add-flat-tags.ts'

/** Replaces the tag bindings and adds the flat tags that a body names; what it leaves out stays. */
export async function changeTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  { relationships }: UpdateWorkspace,
) {
  const bindings = relationships['tag-bindings']?.data.map((tag) => tag.attributes)
  if (bindings) await replaceTagBindings(ctx, target, bindings)
  if (relationships.tags) await addFlatTags(ctx, target, relationships.tags.data, '/data/relationships/tags/data')
}

/** The tags of a body, for the audit trail. */
export function changedTags({ relationships }: Pick<UpdateWorkspace, 'relationships'>) {
  return {
    'tag-bindings': relationships['tag-bindings']?.data.map((tag) => tag.attributes),
    tags: relationships.tags?.data,
  }
}
