import { FINAL_STATUSES, type RunStatus, UNFINISHED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import { type Page, pageOffset } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import type { RunFilter, RunOperation } from './filter.ts'
import type { RunRow } from './locked-run-store.ts'
import { containsText } from './message-store.ts'

const FLAG_OF = {
  plan_only: 'plan_only',
  save_plan: 'save_plan',
  refresh_only: 'refresh_only',
  destroy: 'is_destroy',
  empty_apply: 'allow_empty_apply',
} as const satisfies Record<Exclude<RunOperation, 'plan_and_apply'>, keyof RunRow>
/** Columns of runs that `operationCondition` reads. */
export const OPERATION_FLAGS = Object.values(FLAG_OF)

export function operationCondition(table: 'r' | 'lanes', operations: readonly RunOperation[]) {
  const flag = (name: (typeof OPERATION_FLAGS)[number]) => sql.raw(`${table}.${name}`)
  const conditions = operations.map((name) =>
    name === 'plan_and_apply' ? sql`not (${sql.join(OPERATION_FLAGS.map(flag), sql` or `)})` : flag(FLAG_OF[name]),
  )
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}

/** The SQL condition of a filter, on runs `r` in workspaces `w`. */
export function filterCondition(filter: RunFilter): RawBuilder<boolean> {
  const { statuses, groupStatuses, operations, sources, workspaceNames, agentPoolNames, username, text } = filter
  const conditions = [
    statuses && statusCondition(statuses),
    groupStatuses && statusCondition(groupStatuses),
    operations && operationCondition('r', operations),
    sources && sql`r.source = any(${sources})`,
    workspaceNames && sql`lower(w.name) = any(${workspaceNames})`,
    agentPoolNames &&
      sql`r.agent_pool_id in (select id from agent_pools
        where organization_id = r.organization_id and lower(name) = any(${agentPoolNames}))`,
    username && sql`r.created_by_user_id = (select id from users where lower(username) = ${username})`,
    filter.commit !== undefined &&
      sql`r.configuration_version_id in (select cv.id from configuration_versions cv where ${isOfCommit(filter.commit)})`,
    text && sql`(r.id = ${text} or ${containsText(sql`r.message`, text)})`,
    filter.created && createdCondition(filter.created),
    filter.changedSince && sql`r.updated_at >= ${filter.changedSince}`,
  ].filter((condition) => typeof condition === 'object')
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Whether a run is in an agent pool with one of these names in lower case. An array, so that pools are looked up once and not for each run. */
export function isInPools(organizationId: string, names: readonly string[]) {
  return sql<boolean>`r.agent_pool_id = any(array(select id from agent_pools
    where organization_id = ${organizationId} and lower(name) = any(${names})))`
}

/** Whether a configuration version `cv` is of a commit that begins like this. */
export function isOfCommit(sha: string) {
  // Other characters are in no SHA, and some have a meaning in patterns.
  return sql<boolean>`cv.ingress_attributes_id in (
    select id from ingress_attributes where commit_sha like ${`${sha.replaceAll(/[^0-9a-f]/g, '-')}%`})`
}

/** The condition of the partial index over unfinished runs. */
export const isUnfinished = sql<boolean>`r.status not in (${literals(FINAL_STATUSES)})`

/** Statuses are literals, so that a prepared statement can use the partial indexes over unfinished and failed runs. */
export function statusCondition(statuses: readonly RunStatus[]) {
  const isAmong = statuses.length === 0 ? sql`false` : sql`r.status in (${literals(statuses)})`
  const areUnfinished = statuses.every((status) => UNFINISHED_STATUSES.includes(status))
  return areUnfinished ? sql<boolean>`(${isAmong} and ${isUnfinished})` : isAmong
}

export function createdCondition({ from, before }: NonNullable<RunFilter['created']>) {
  return before ? sql`(r.created_at >= ${from} and r.created_at < ${before})` : sql`r.created_at >= ${from}`
}

/** Literals, and no offset on the first page, let PostgreSQL plan a prepared statement for few rows. */
export function pageWindow(page: Page, more = 0) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + more)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}
