import { documentOf, pageOf } from '@groundstate/contract/responses'
import { type CommentResource, commentSchema, createCommentBody } from '@groundstate/contract/run-events'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireRun } from '../runs/access.ts'
import { insertComment } from '../runs/actions.ts'
import { runEventRow, runEventsInsert } from '../runs/run-event-store.ts'
import * as store from './store.ts'

export const commentRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/comments',
    {
      summary: 'List the comments on a run',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(commentSchema) },
    },
    async (req) => {
      const { id: runId } = await requireRun(req.ctx, req.params.runId, 'runs:read')
      return req.list(await store.listComments(req.ctx.db, { runId, page: req.page() }), commentResource)
    },
  )
  http.post(
    '/runs/:runId/comments',
    {
      summary: 'Comment on a run',
      access: { workspace: 'runs:read' },
      audit: 'comment create',
      body: createCommentBody,
      responses: { 201: documentOf(commentSchema) },
    },
    async (req) => created(await createComment(req.ctx, req.params.runId, req.body.data.attributes.body)),
  )
  http.get(
    '/comments/:commentId',
    { summary: 'Show a comment', access: { workspace: 'runs:read' }, responses: { 200: documentOf(commentSchema) } },
    async (req) => ok(await showComment(req.ctx, req.params.commentId)),
  )
}

export const commentLoaders: readonly Loader[] = [
  {
    type: 'comments',
    load: async (ctx, ids) => {
      const rows = await store.findComments(ctx.db, ctx.actor, ids)
      return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row))).map(commentResource)
    },
  },
]

async function createComment(ctx: Ctx, runId: string, body: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return transact(ctx, async (ctx) => {
    const id = await insertComment(ctx, run.id, body)
    const event = runEventRow(ctx, run.id, { action: 'commented', commentId: id })
    await runEventsInsert(ctx.db, [event]).execute()
    await recordAudit(ctx, {
      organizationId: run.organization_id,
      action: 'create',
      resource: { type: 'comment', id },
      meta: { run: run.id },
      notices: [{ type: 'runs', id: run.id, workspace: run.workspace_id }],
    })
    return showComment(ctx, id)
  })
}

async function showComment(ctx: Ctx, id: string) {
  const row = await store.findComment(ctx.db, id)
  if (!row) throw notFound('comment')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'comment' })
  return commentResource(row)
}

function commentResource(comment: store.CommentRow): CommentResource {
  const { run_event_id: eventId, created_by_user_id: userId } = comment
  return {
    id: comment.id,
    type: 'comments',
    attributes: { body: comment.body, 'created-at': comment.created_at },
    relationships: {
      'run-event': { data: eventId === null ? null : { id: eventId, type: 'run-events' } },
      'created-by': { data: userId === null ? null : { id: userId, type: 'users' } },
    },
    links: { self: `/api/v2/comments/${comment.id}` },
  }
}
