import { runEventIncludes } from '@groundstate/contract/includes'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { type RunEventResource, runEventSchema } from '@groundstate/contract/run-events'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { requireRun } from '../runs/access.ts'
import { type RunEventRow, findRunEvent, listRunEvents } from './store.ts'

export const runEventRoutes: Routes = (http) => {
  // Not paginated: clients expect the whole list.
  http.get(
    '/runs/:runId/run-events',
    {
      summary: 'List the events of a run',
      access: { workspace: 'runs:read' },
      include: runEventIncludes,
      responses: { 200: wholeListOf(runEventSchema) },
    },
    async (req) => {
      const run = await requireRun(req.ctx, req.params.runId, 'runs:read')
      return listAll((await listRunEvents(req.ctx.db, [run.id])).map(runEventResource))
    },
  )
  http.get(
    '/run-events/:runEventId',
    {
      summary: 'Show an event of a run',
      access: { workspace: 'runs:read' },
      include: runEventIncludes,
      responses: { 200: documentOf(runEventSchema) },
    },
    async (req) => {
      const row = await findRunEvent(req.ctx.db, req.params.runEventId)
      if (!row) throw notFound('run event')
      await requireRun(req.ctx, row.run_id, 'runs:read', { noun: 'run event' })
      return ok(runEventResource(row))
    },
  )
}

function runEventResource(event: RunEventRow): RunEventResource {
  const { run_id: runId, actor_user_id: userId, comment_id: commentId } = event
  return {
    id: event.id,
    type: 'run-events',
    attributes: { action: event.action, description: event.description, 'created-at': event.created_at },
    relationships: {
      run: { data: { id: runId, type: 'runs' } },
      actor: { data: userId === null ? null : { id: userId, type: 'users' } },
      comment: { data: commentId === null ? null : { id: commentId, type: 'comments' } },
    },
    links: { self: `/api/v2/run-events/${event.id}` },
  }
}

export const runEventLoaders: readonly Loader[] = [
  {
    // The events of a run need no permission besides that to read the run.
    of: 'runs',
    relation: 'run-events',
    load: async (ctx, runs) => {
      const ids = runs.map(({ id }) => id)
      const events = Map.groupBy(await listRunEvents(ctx.db, ids), (event) => event.run_id)
      return new Map(ids.map((id) => [id, (events.get(id) ?? []).map(runEventResource)]))
    },
  },
]
