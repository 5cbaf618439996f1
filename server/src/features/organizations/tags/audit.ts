/** The thing whose tags change. */
type Tagged = { type: 'workspace' | 'project' | 'organization'; id: string; name: string; organizationId: string }

/** The audit event of a change of tags. */
export function tagsAudit(
  { type, id, name, organizationId }: Tagged,
  action: 'add_tags' | 'replace_tags' | 'remove_tags',
  tags: readonly unknown[],
) {
  return { organizationId, action, resource: { type, id }, meta: { name, tags } }
}
