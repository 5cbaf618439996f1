import { z } from 'zod'
import { requestBody } from './json-api.ts'
import { type Written, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

export const runEventSchema = linkedResource('run-events', {
  attributes: {
    action: z.string().describe('what happened, such as `created`, `confirmed` or `commented`'),
    description: nullable.string,
    'created-at': timestamp,
  },
  relationships: {
    run: hasOne('runs'),
    actor: hasOne('users').describe('the user who acted; none when the server did'),
    comment: hasOne('comments'),
  },
})
export type RunEventResource = Written<typeof runEventSchema>

export const createCommentBody = requestBody('comments', z.object({ body: z.string().min(1).max(10_000) }))

export const commentSchema = linkedResource('comments', {
  attributes: { body: z.string(), 'created-at': timestamp.describe('our own') },
  relationships: { 'run-event': hasOne('run-events'), 'created-by': hasOne('users') },
})
export type CommentResource = Written<typeof commentSchema>
