import { sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'

function selectComments(db: Db) {
  const comments = db.selectFrom('comments as c').leftJoin('run_events as e', 'e.comment_id', 'c.id')
  return comments.selectAll('c').select('e.id as run_event_id')
}

export async function findComment(db: Db, id: string) {
  return selectComments(db).where('c.id', '=', id).executeTakeFirst()
}
export type CommentRow = NonNullable<Awaited<ReturnType<typeof findComment>>>

export async function findComments(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectComments(db)
    .innerJoin('runs as r', 'r.id', 'c.run_id')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select(['r.workspace_id', 'w.organization_id'])
    .select(sharedAccessColumn(actor).as('access'))
    .where(sql<boolean>`c.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

/** A page of the comments on a run, oldest first. */
export async function listComments(db: Db, { runId, page }: { runId: string; page: Page }) {
  const list = selectComments(db).where('c.run_id', '=', runId).orderBy('c.seq')
  return readPaged(page, list, db.selectFrom('comments').where('run_id', '=', runId))
}
