import { sql } from 'kysely'
import type { TestApp } from '../../../../testing/app.ts'
import { wordsOf } from '../message-store.ts'

/** Inserts the keys of runs that a test has copied. */
export async function insertRunKeys(app: TestApp) {
  await sql`insert into run_keys (run_id, workspace_id, organization_id, seq, words, created_at)
    select id, workspace_id, organization_id, seq, ${wordsOf(sql`message`)}, created_at from runs
        on conflict do nothing`.execute(app.db)
}
