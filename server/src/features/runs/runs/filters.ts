import { type RawBuilder, sql } from 'kysely'
import { invalidParameter } from '../../../errors.ts'
import { readText } from '../../../http/query.ts'
import { DISCARDABLE, FINAL, RUN_STATUSES, type RunStatus, UNFINISHED } from './status.ts'

/** SQL condition on runs `r` in workspaces `w`. */
export type RunFilter = RawBuilder<boolean>

const OPERATIONS = {
  plan_only: sql<boolean>`r.plan_only`,
  save_plan: sql<boolean>`r.save_plan`,
  refresh_only: sql<boolean>`r.refresh_only`,
  destroy: sql<boolean>`r.is_destroy`,
  empty_apply: sql<boolean>`r.allow_empty_apply`,
  plan_and_apply: sql<boolean>`not (r.plan_only or r.save_plan or r.refresh_only or r.is_destroy or r.allow_empty_apply)`,
} as const satisfies Record<string, RunFilter>

const GROUPS = { non_final: UNFINISHED, final: FINAL, discardable: DISCARDABLE } as const satisfies Record<
  string,
  readonly RunStatus[]
>

/** Reads the filters of a list of runs; undefined when there are none. Throws `invalid` for a value that none can have. */
export function readRunFilter(query: Record<string, unknown>, now: Date): RunFilter | undefined {
  const conditions: RunFilter[] = []
  const each = <T>(parameter: string, read: (values: string[], parameter: string) => T) => {
    const text = readText(query, parameter)
    return text === undefined
      ? undefined
      : read(
          text.split(',').map((value) => value.trim()),
          parameter,
        )
  }
  const statuses = each('filter[status]', (values, parameter) => closed(values, parameter, RUN_STATUSES))
  if (statuses) conditions.push(sql`r.status = any(${statuses})`)
  const group = each('filter[status_group]', (values, parameter) => closed(values, parameter, Object.keys(GROUPS)))
  if (group) {
    const names: string[] = group.flatMap((name) => GROUPS[name as keyof typeof GROUPS])
    conditions.push(sql`r.status = any(${names})`)
  }
  const operations = each('filter[operation]', (values, parameter) =>
    closed(values, parameter, Object.keys(OPERATIONS)),
  )
  if (operations) {
    const any = operations.map((name) => OPERATIONS[name as keyof typeof OPERATIONS])
    conditions.push(sql`(${sql.join(any, sql` or `)})`)
  }
  const sources = each('filter[source]', (values) => values)
  if (sources) conditions.push(sql`r.source = any(${sources})`)
  const names = each('filter[workspace_names]', (values) => values.map((value) => value.toLowerCase()))
  if (names) conditions.push(sql`lower(w.name) = any(${names})`)
  const pools = each('filter[agent_pool_names]', (values) => values.map((value) => value.toLowerCase()))
  if (pools)
    conditions.push(sql`r.agent_pool_id in (select id from agent_pools
      where organization_id = r.organization_id and lower(name) = any(${pools}))`)
  const user = readText(query, 'search[user]')
  if (user)
    conditions.push(sql`r.created_by_user_id in (select id from users where lower(username) = ${user.toLowerCase()})`)
  // No run comes from a commit: this server is connected to no version control.
  if (readText(query, 'search[commit]')) conditions.push(sql`false`)
  const basic = readText(query, 'search[basic]')
  if (basic) {
    const pattern = `%${basic.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
    conditions.push(sql`(r.id = ${basic} or r.message ilike ${pattern})`)
  }
  const timeframe = readText(query, 'filter[timeframe]')
  if (timeframe) conditions.push(timeframeCondition(timeframe, now))
  return conditions.length === 0 ? undefined : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

function closed(values: string[], parameter: string, known: readonly string[]) {
  const unknown = values.find((value) => !known.includes(value))
  if (unknown !== undefined)
    throw invalidParameter(
      `${parameter} has ${JSON.stringify(unknown)}, it must be among ${known.join(', ')}`,
      parameter,
    )
  return values
}

function timeframeCondition(timeframe: string, now: Date): RunFilter {
  if (timeframe === 'year') {
    const start = new Date(now)
    start.setUTCFullYear(start.getUTCFullYear() - 1)
    return sql`r.created_at >= ${start}`
  }
  if (!/^\d{4}$/.test(timeframe))
    throw invalidParameter(
      `filter[timeframe] is ${timeframe}, it must be year or a year such as 2026`,
      'filter[timeframe]',
    )
  const year = Number(timeframe)
  const [start, end] = [new Date(Date.UTC(year, 0)), new Date(Date.UTC(year + 1, 0))]
  return sql`(r.created_at >= ${start} and r.created_at < ${end})`
}
