import type { TagLinkage } from '@groundstate/contract/tags'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { addTagKeys } from '../../organizations/tags/bind.ts'
import * as store from './store.ts'

/**
 * Adds flat tags, which are bindings without a value; a key that is bound already stays as it is. Throws `invalid` for an
 * id that no tag of the organization has. The caller has authorised the change.
 */
export async function addFlatTags(
  ctx: TransactionCtx,
  target: { organizationId: string; workspaceId: string },
  tags: readonly TagLinkage[],
  pointer: string,
) {
  await addTagKeys(ctx, target, { keys: await readTagKeys(ctx, target.organizationId, { tags, pointer }), pointer })
}

/** The keys of tags that a body names by name or by id. Throws `invalid` at `pointer` for an id that no tag has. */
export async function readTagKeys(
  ctx: Ctx,
  organizationId: string,
  { tags, pointer }: { tags: readonly TagLinkage[]; pointer: string },
) {
  const ids = tags.flatMap((tag) => ('id' in tag ? [tag.id] : []))
  const known = ids.length === 0 ? [] : await store.listKeysOfTagIds(ctx.db, organizationId, ids)
  const keys = new Map(known.map((tag) => [tag.tag_id, tag.key]))
  return tags.map((tag, index) => {
    if ('attributes' in tag) return tag.attributes.name
    const key = keys.get(tag.id)
    if (key === undefined) throw invalid(`there is no tag ${tag.id} in the organization`, `${pointer}/${index}/id`)
    return key
  })
}
