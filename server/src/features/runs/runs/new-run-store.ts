import { type Insertable, sql } from 'kysely'
import { type AuditRow, eventInsert } from '../../../audit/store.ts'
import type { Tx } from '../../../db/db.ts'
import { pipeline, writeBatch } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { selectVersionForRun } from '../configuration-versions/store.ts'
import { type LockedRun, runWorkspaceLock } from './locked-run-store.ts'
import { wordsOf } from './message-store.ts'
import { queuedJobInsert } from './queued-job-store.ts'
import { runEventsInsert } from './run-event-store.ts'
import type { Transition } from './transition.ts'

/** Locks the workspace of a new run, and reads the configuration version for it: the given one, or else the current one. */
export async function lockForNewRun(tx: Tx, workspaceId: string, versionId: string | undefined) {
  const [[workspace], [version]] = await pipeline(tx, [
    runWorkspaceLock(tx, workspaceId),
    selectVersionForRun(tx, { id: versionId, workspaceId }),
  ])
  return { workspace, version }
}

type NewRunRows = { transition: Transition; event: Insertable<Schema['run_events']>; audit: AuditRow }

/** Writes a new run in the statuses that it starts with, and everything that belongs to it, along with the next statement. */
export async function insertNewRun(tx: Tx, locked: LockedRun, { transition, event, audit }: NewRunRows) {
  // The database numbers the row.
  const { seq: _, queue_order: __, variables, ...columns } = locked.run
  const phases = [locked.plan, locked.apply].map(({ id, kind, status, status_timestamps }) => ({
    id,
    kind,
    run_id: columns.id,
    status,
    status_timestamps: JSON.stringify(status_timestamps),
    ...(kind === 'plan' ? transition.plan : transition.apply),
  }))
  const run = tx.insertInto('runs').values({
    ...columns,
    status_timestamps: JSON.stringify(columns.status_timestamps),
    variables: JSON.stringify(variables),
    ...transition.run,
  })
  const writes = [
    {
      name: 'new_run',
      write: run.returning(['id', 'workspace_id', 'organization_id', 'seq', 'message', 'created_at']),
    },
    sql`insert into run_keys (run_id, workspace_id, organization_id, seq, words, created_at)
      select id, workspace_id, organization_id, seq, ${wordsOf(sql`message`)}, created_at from new_run`,
    ...phases.map((row) => tx.insertInto('phases').values(row)),
    runEventsInsert(tx, [event]),
    eventInsert(audit),
    tx
      .updateTable('workspaces')
      .set({ ...transition.workspace, run_count: columns.number, latest_run_id: columns.id })
      .where('id', '=', columns.workspace_id),
    ...(transition.job ? [queuedJobInsert(transition.job)] : []),
  ]
  await writeBatch(tx, writes)
}
