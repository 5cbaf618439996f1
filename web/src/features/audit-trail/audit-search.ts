import type { SearchParams } from '../../search-params.ts'

/** Filters of an audit trail, and what is open; `event` is the one in the drawer. */
export const AUDIT_SEARCH = {
  q: 'text',
  actor: 'text',
  type: 'text',
  resource: 'text',
  action: 'text',
  since: 'text',
  until: 'text',
  event: 'text',
  page: 'number',
} as const
export type AuditSearch = SearchParams<typeof AUDIT_SEARCH>

export const NO_FILTER: AuditSearch = {
  q: undefined,
  actor: undefined,
  type: undefined,
  resource: undefined,
  action: undefined,
  since: undefined,
  until: undefined,
}

export function isFiltered(search: AuditSearch) {
  return Object.keys(NO_FILTER).some((name) => search[name as keyof AuditSearch] !== undefined)
}
