import type * as contract from '@groundstate/contract/tags'
import type { EffectiveTagBinding, ReservedTagKeyRow, TagBindingRow } from './store.ts'

export function tagBindingResource(row: TagBindingRow): contract.TagBindingResource {
  return {
    id: row.id,
    type: 'tag-bindings',
    attributes: { key: row.key, value: row.value, 'created-at': row.created_at },
  }
}

export function effectiveTagBindingResource(row: EffectiveTagBinding): contract.EffectiveTagBindingResource {
  return {
    id: row.id,
    type: 'effective-tag-bindings',
    attributes: { key: row.key, value: row.value, 'created-at': row.created_at },
    ...(row.inherited_from !== null && {
      relationships: { 'inherited-from': { data: { id: row.inherited_from, type: 'projects' } } },
      links: { 'inherited-from': `/api/v2/projects/${row.inherited_from}` },
    }),
  }
}

export function reservedTagKeyResource(row: ReservedTagKeyRow): contract.ReservedTagKeyResource {
  return {
    id: row.id,
    type: 'reserved-tag-keys',
    attributes: {
      key: row.key,
      'disable-overrides': row.disable_overrides,
      'created-at': row.created_at,
      'updated-at': row.updated_at,
      // Existing clients read these two in snake case.
      created_at: row.created_at,
      updated_at: row.updated_at,
    },
  }
}
