import { TAG_LEVELS } from '@groundstate/contract/run-tasks'
import { type Selectable, sql } from 'kysely'
import { workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type TaskOutcomeRow = Selectable<Schema['task_outcomes']> & { has_body: boolean }

export type NewOutcome = {
  id: string
  outcome_id: string
  description: string
  url: string | null
  tags: string | null
  body: string | null
}

const hasLevel = (level: string) => sql`o.tags @? ${sql.lit(`$[*].value[*] ? (@.level == "${level}")`)}`

/** The most severe level of an outcome's tags. */
const mostSevereLevel = sql`case ${sql.join(
  TAG_LEVELS.toReversed().map((level) => sql`when ${hasLevel(level)} then ${sql.lit(level)}`),
  sql` `,
)} else 'none' end`

type Merge = { rows: readonly NewOutcome[]; now: Date }

/** Adds outcomes to a result, or updates those with the same `outcome_id`, which keep values that are not sent. */
export async function mergeOutcomes(tx: Tx, resultId: string, { rows, now }: Merge) {
  const column = <K extends keyof NewOutcome>(name: K) => rows.map((row) => row[name])
  await sql`with reported as (
      select * from unnest(${column('id')}::text[], ${column('outcome_id')}::text[], ${column('description')}::text[],
                           ${column('url')}::text[], ${column('tags')}::text[], ${column('body')}::text[])
                    with ordinality as x(id, outcome_id, description, url, tags, body, place)),
    merged as (
      insert into task_outcomes as o (id, task_result_id, outcome_id, description, url, tags, created_at, updated_at)
      select id, ${resultId}, outcome_id, description, url, coalesce(tags, '[]')::jsonb, ${now}, ${now} from reported
       order by place
      on conflict (task_result_id, outcome_id) do update
         set description = excluded.description, url = coalesce(excluded.url, o.url), updated_at = excluded.updated_at,
             tags = case when (select tags from reported where reported.outcome_id = o.outcome_id) is null
                         then o.tags else excluded.tags end
      returning id, outcome_id)
    insert into task_outcome_bodies as b (task_outcome_id, body)
    select merged.id, reported.body from merged join reported using (outcome_id) where reported.body is not null
    on conflict (task_outcome_id) do update set body = excluded.body`.execute(tx)
  await sql`with counted as (
      select ${mostSevereLevel} as level, count(*) as number from task_outcomes o where task_result_id = ${resultId} group by level)
    update task_results
       set outcomes_count = (select coalesce(sum(number), 0) from counted),
           outcome_levels = (select coalesce(jsonb_object_agg(level, number), '{}') from counted)
     where id = ${resultId}`.execute(tx)
}

const hasBody = sql<boolean>`exists (select from task_outcome_bodies b where b.task_outcome_id = o.id)`

export async function listOutcomes(db: Db, resultId: string, page: Page) {
  return db
    .selectFrom('task_outcomes as o')
    .selectAll('o')
    .select(hasBody.as('has_body'))
    .where('o.task_result_id', '=', resultId)
    .orderBy('o.seq')
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
}

/** The first outcomes of each result. */
export async function listOutcomesOf(db: Db, resultIds: readonly string[], limit: number) {
  const { rows } = await sql<TaskOutcomeRow>`select o.*, ${hasBody} as has_body
      from unnest(${resultIds}::text[]) result (id)
      cross join lateral (select * from task_outcomes where task_result_id = result.id order by seq limit ${limit}) o
     order by o.seq`.execute(db)
  return rows
}

export async function findOutcome(db: Db, actor: Actor, id: string) {
  return db
    .selectFrom('task_outcomes as o')
    .innerJoin('task_results as r', 'r.id', 'o.task_result_id')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .selectAll('o')
    .select(hasBody.as('has_body'))
    .select(['w.id as workspace_id', 'w.name as workspace_name', 'w.organization_id'])
    .select(workspaceAccessColumn(actor).as('access'))
    .where('o.id', '=', id)
    .executeTakeFirst()
}

export async function findBody(db: Db, outcomeId: string) {
  const row = await db
    .selectFrom('task_outcome_bodies')
    .select('body')
    .where('task_outcome_id', '=', outcomeId)
    .executeTakeFirst()
  return row?.body
}

/** The outcomes of a result with a body, without the body itself. */
export async function listOutcomesWithBody(db: Db, resultId: string) {
  return db
    .selectFrom('task_outcomes as o')
    .select(['o.id', 'o.description'])
    .where('o.task_result_id', '=', resultId)
    .where(hasBody)
    .orderBy('o.seq')
    .execute()
}
