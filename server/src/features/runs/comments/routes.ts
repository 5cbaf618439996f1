import { documentOf, pageOf } from '@groundstate/contract/responses'
import { commentSchema, createCommentBody } from '@groundstate/contract/run-events'
import type { Routes } from '../../../http/http.ts'
import { created, listPage, ok } from '../../../http/responses.ts'
import { requireComment } from './access.ts'
import { createComment } from './create.ts'
import { listComments } from './list.ts'
import { commentResource } from './resource.ts'

export const commentRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/comments',
    {
      summary: 'List the comments on a run',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(commentSchema) },
    },
    async (req) => {
      const page = req.page()
      const { rows, total } = await listComments(req.ctx, req.params.runId, page)
      return listPage({ url: req.url, page }, { rows: rows.map(commentResource), total })
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
