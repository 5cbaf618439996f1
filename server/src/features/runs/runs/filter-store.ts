import { FINAL_STATUSES, type RunStatus, UNFINISHED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import { containing } from '../../../db/like.ts'
import { literals } from '../../../db/literals.ts'
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
    statuses && statusCondition(statuses),
    groupStatuses && statusCondition(groupStatuses),
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
    username && sql`r.created_by_user_id = (select id from users where lower(username) = ${username})`,
    filter.commit && sql`false`,
    text && sql`(r.id = ${text} or ${containsText(sql`r.message`, text)})`,
    filter.created && createdCondition(filter.created),
    filter.changedSince && sql`r.updated_at >= ${filter.changedSince}`,
  ]
  return sql<boolean>`(${sql.join(
    conditions.filter((condition) => typeof condition === 'object'),
    sql` and `,
  )})`
}

/** A text of one or two characters is the beginning of a word: nearly every message has it somewhere. */
export function isShort(text: string) {
  return Array.from(text).length < 3
}

/** Whether a message has a text that is searched for; the words of short ones are those of the index `text_keys`. */
export function containsText(message: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  if (!isShort(text)) return sql<boolean>`${message} ilike ${containing(text)}`
  return sql<boolean>`spaced_words(${message}) like lower(${containing(` ${text}`)})`
}

/** The condition of the partial index over unfinished runs. */
export const isUnfinished = sql<boolean>`r.status not in (${literals(FINAL_STATUSES)})`

/** Statuses are literals, so that a prepared statement can use the partial indexes over unfinished and failed runs. */
export function statusCondition(statuses: readonly RunStatus[]) {
  const among = statuses.length === 0 ? sql`false` : sql`r.status in (${literals(statuses)})`
  return statuses.every((status) => UNFINISHED_STATUSES.includes(status))
    ? sql<boolean>`(${among} and ${isUnfinished})`
    : among
}

/** The condition of `filter.created`, on runs `r`. */
export function createdCondition({ from, before }: { from: Date; before?: Date }) {
  return before ? sql`(r.created_at >= ${from} and r.created_at < ${before})` : sql`r.created_at >= ${from}`
}
