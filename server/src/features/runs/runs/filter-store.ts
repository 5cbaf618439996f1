import { type RawBuilder, sql } from 'kysely'
import { containing } from '../../../db/like.ts'
import type { RunOperation, RunFilter } from './filter.ts'

const OPERATION_CONDITIONS = {
  plan_only: sql<boolean>`r.plan_only`,
  save_plan: sql<boolean>`r.save_plan`,
  refresh_only: sql<boolean>`r.refresh_only`,
  destroy: sql<boolean>`r.is_destroy`,
  empty_apply: sql<boolean>`r.allow_empty_apply`,
  plan_and_apply: sql<boolean>`not (r.plan_only or r.save_plan or r.refresh_only or r.is_destroy or r.allow_empty_apply)`,
} as const satisfies Record<RunOperation, RawBuilder<boolean>>

/** The SQL condition of a filter, on runs `r` in workspaces `w`. */
export function filterCondition(filter: RunFilter): RawBuilder<boolean> {
  const { statuses, groupStatuses, operations, sources, workspaceNames, agentPoolNames, username, text } = filter
  const conditions = [
    statuses && sql`r.status = any(${statuses})`,
    groupStatuses && sql`r.status = any(${groupStatuses})`,
    operations &&
      sql`(${sql.join(
        operations.map((name) => OPERATION_CONDITIONS[name]),
        sql` or `,
      )})`,
    sources && sql`r.source = any(${sources})`,
    workspaceNames && sql`lower(w.name) = any(${workspaceNames})`,
    agentPoolNames &&
      sql`r.agent_pool_id in (select id from agent_pools
        where organization_id = r.organization_id and lower(name) = any(${agentPoolNames}))`,
    username && sql`r.created_by_user_id in (select id from users where lower(username) = ${username})`,
    filter.commit && sql`false`,
    text && sql`(r.id = ${text} or r.message ilike ${containing(text)})`,
    filter.created && createdCondition(filter.created),
  ]
  return sql<boolean>`(${sql.join(
    conditions.filter((condition) => typeof condition === 'object'),
    sql` and `,
  )})`
}

function createdCondition({ from, before }: { from: Date; before?: Date }) {
  return before ? sql`(r.created_at >= ${from} and r.created_at < ${before})` : sql`r.created_at >= ${from}`
}
