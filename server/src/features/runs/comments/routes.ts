import { documentOf, pageOf } from '@groundstate/contract/responses'
import { type CommentResource, commentSchema, createCommentBody } from '@groundstate/contract/run-events'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireRun } from '../runs/access.ts'
import * as service from './service.ts'
import type { CommentRow } from './store.ts'

export const commentRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/comments',
    {
      summary: 'List the comments on a run',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(commentSchema) },
      authorise: async (ctx, { runId }) => requireRun(ctx, runId, 'runs:read'),
    },
    async (req) => req.list(await service.listComments(req.ctx, req.subject.id, req.page()), commentResource),
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
    async (req) =>
      created(commentResource(await service.createComment(req.ctx, req.params.runId, req.body.data.attributes.body))),
  )
  http.get(
    '/comments/:commentId',
    { summary: 'Show a comment', access: { workspace: 'runs:read' }, responses: { 200: documentOf(commentSchema) } },
    async (req) => ok(commentResource(await service.requireComment(req.ctx, req.params.commentId))),
  )
}

export const commentLoaders: readonly Loader[] = [
  {
    type: 'comments',
    load: async (ctx, ids) => (await service.listReadableComments(ctx, ids)).map(commentResource),
  },
]

function commentResource(comment: CommentRow): CommentResource {
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
