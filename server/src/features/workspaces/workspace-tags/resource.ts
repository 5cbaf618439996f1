import type { TagResource } from '@groundstate/contract/tags'
import type { Tag } from './store.ts'

/** A tag as the older interface has it: a name that workspaces share. */
export function tagResource(tag: Tag, organizationName: string): TagResource {
  return {
    id: tag.tag_id,
    type: 'tags',
    attributes: { name: tag.key, 'created-at': tag.created_at, 'instance-count': tag.instance_count },
    relationships: { organization: { data: { id: organizationName, type: 'organizations' } } },
  }
}
