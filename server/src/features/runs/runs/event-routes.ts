import { type CommentResource, createCommentBody } from '@groundstate/contract/comments'
import type { RunEventResource } from '@groundstate/contract/run-events'
import type { Ctx } from '../../../app.ts'
import { created, listAll, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { includedUsers } from '../../identity/users/service.ts'
import {
  type Comment,
  createComment,
  findComments,
  listComments,
  listRunEvents,
  requireComment,
  requireRunEvent,
  type RunEvent,
} from './comments.ts'

const INCLUDES = ['actor', 'comment'] as const

export const runEventRoutes: Routes = (http) => {
  http.get('/runs/:runId/run-events', { include: INCLUDES }, async (req) => {
    const events = await listRunEvents(req.ctx, req.params.runId)
    return listAll(events.map(runEventResource), await included(req.ctx, events, req.includes))
  })
  http.get('/run-events/:runEventId', { include: INCLUDES }, async (req) => {
    const event = await requireRunEvent(req.ctx, req.params.runEventId)
    return ok(runEventResource(event), await included(req.ctx, [event], req.includes))
  })

  http.get('/runs/:runId/comments', async (req) => {
    const page = req.page()
    const { rows, total } = await listComments(req.ctx, req.params.runId, page)
    return listPage({ url: req.url, page }, { rows: rows.map(commentResource), total })
  })
  http.post('/runs/:runId/comments', { body: createCommentBody }, async (req) => {
    return created(commentResource(await createComment(req.ctx, req.params.runId, req.body.data.attributes.body)))
  })
  http.get('/comments/:commentId', async (req) =>
    ok(commentResource(await requireComment(req.ctx, req.params.commentId))),
  )
}

function runEventResource(event: RunEvent): RunEventResource {
  return {
    id: event.id,
    type: 'run-events',
    attributes: { action: event.action, description: event.description, 'created-at': event.created_at },
    relationships: {
      run: { data: { id: event.run_id, type: 'runs' } },
      actor: { data: event.actor_user_id === null ? null : { id: event.actor_user_id, type: 'users' } },
      comment: { data: event.comment_id === null ? null : { id: event.comment_id, type: 'comments' } },
    },
    links: { self: `/api/v2/run-events/${event.id}` },
  }
}

function commentResource(comment: Comment): CommentResource {
  return {
    id: comment.id,
    type: 'comments',
    attributes: { body: comment.body, 'created-at': comment.created_at },
    relationships: {
      'run-event': { data: comment.run_event_id === null ? null : { id: comment.run_event_id, type: 'run-events' } },
      'created-by': {
        data: comment.created_by_user_id === null ? null : { id: comment.created_by_user_id, type: 'users' },
      },
    },
    links: { self: `/api/v2/comments/${comment.id}` },
  }
}

async function included(ctx: Ctx, events: readonly RunEvent[], includes: ReadonlySet<string>) {
  if (includes.size === 0) return undefined
  const users = includes.has('actor')
    ? await includedUsers(
        ctx,
        events.map((event) => event.actor_user_id),
      )
    : []
  const ids = includes.has('comment') ? events.flatMap((event) => event.comment_id ?? []) : []
  return [...users, ...(await findComments(ctx, ids)).map(commentResource)]
}
