import { type RawBuilder, sql } from 'kysely'

/** The policy of an organization or workspace, as a column of its row. */
export type PolicyColumn = { id: string; days: number | null } | null

/** SQL of the policy that is set on a row itself: `owner` is the column that names it, `id` SQL of its id. */
export function policyColumn(owner: 'organization_id' | 'workspace_id', id: RawBuilder<unknown>) {
  return sql<PolicyColumn>`(select jsonb_build_object('id', drp.id, 'days', drp.delete_older_than_days)
    from data_retention_policies drp where drp.${sql.ref(owner)} = ${id})`
}
