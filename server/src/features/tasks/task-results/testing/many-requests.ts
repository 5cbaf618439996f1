import { sql } from 'kysely'
import type { TestApp } from '../../../../testing/app.ts'
import { tokenContext } from '../deliver.ts'

/** Rows that one statement inserts. */
const BATCH = 5_000

/**
 * Copies the only due request `count` times, distributed over the tasks. Inserts rows, since creating runs would take
 * minutes.
 */
export async function multiplyRequest(app: TestApp, { tasks, count }: { tasks: readonly string[]; count: number }) {
  const requests = Array.from({ length: count }, (_, index) => {
    const id = `taskrs-copy-${index}`
    return { id, task: tasks[index % tasks.length] ?? '', token: app.secrets.seal(`token-${index}`, tokenContext(id)) }
  })
  for (let start = 0; start < count; start += BATCH) {
    const part = requests.slice(start, start + BATCH)
    await sql`
      insert into task_results
        (id, task_stage_id, run_id, stage, task_id, task_name, task_url, enforcement_level, status, access_token, started_at,
         deadline_at, delivery_due_at, created_at, updated_at)
      select copy.id, r.task_stage_id, r.run_id, r.stage, copy.task_id, r.task_name, r.task_url, r.enforcement_level, r.status,
             copy.token, r.started_at, r.deadline_at, r.delivery_due_at, r.created_at, r.updated_at
        from (select * from task_results limit 1) r,
             unnest(${part.map(({ id }) => id)}::text[], ${part.map(({ task }) => task)}::text[],
                    ${part.map(({ token }) => token)}::bytea[]) as copy (id, task_id, token)`.execute(app.db)
  }
}
