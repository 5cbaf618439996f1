import { sql } from 'kysely'
import { z } from 'zod'
import { jobKind } from '../jobs/jobs.ts'
import type { TestApp } from './app.ts'

const extraction = jobKind('state-versions.extract', z.object({ id: z.string() }))

/** Creates a background job whose attempts have all failed, and returns its id. */
export async function createFailedJob(app: TestApp, { id = 'sv-1', error = 'the disk is full' } = {}) {
  await app.jobs.enqueue(app.db, extraction, { id }, { startAfter: new Date(Date.now() + 3_600_000) })
  const output = JSON.stringify({ message: error, stack: 'secret stack' })
  const { rows } = await sql<{ id: string }>`
    update pgboss.job set state = 'failed', retry_count = retry_limit, completed_on = now(), output = ${output}::jsonb
     where name = ${extraction.name} and state = 'created' and data ->> 'id' = ${id} returning id`.execute(app.db)
  return rows[0]?.id ?? ''
}
