import { documentOf, pageOf } from '@groundstate/contract/responses'
import { type CommentResource, commentSchema, createCommentBody } from '@groundstate/contract/run-events'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { created, ok } from '../../../http/responses.ts'
import { createComment, listComments, listReadableComments, requireComment } from './service.ts'
import type { CommentRow } from './store.ts'

export const commentRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/comments',
    {
      summary: 'List the comments on a run',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(commentSchema) },
    },
    async (req) => {
      return req.list(await listComments(req.ctx, req.params.runId, req.page()), commentResource)
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
    async (req) => {
      const comment = await createComment(req.ctx, req.params.runId, req.body.data.attributes.body)
      return created(commentResource(comment))
    },
  )
  http.get(
    '/comments/:commentId',
    { summary: 'Show a comment', access: { workspace: 'runs:read' }, responses: { 200: documentOf(commentSchema) } },
    async (req) => ok(commentResource(await requireComment(req.ctx, req.params.commentId))),
  )
}

export const commentLoaders: readonly Loader[] = [
  { type: 'comments', load: async (ctx, ids) => (await listReadableComments(ctx, ids)).map(commentResource) },
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
