import { runEventIncludes } from '@groundstate/contract/includes'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { type RunEventResource, runEventSchema } from '@groundstate/contract/run-events'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { requireRun } from '../runs/access.ts'
import { type RunEventRow, listEventsOfRuns } from './store.ts'
import * as store from './store.ts'

export const runEventRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/run-events',
    {
      summary: 'List the events of a run',
      access: { workspace: 'runs:read' },
      include: runEventIncludes,
      responses: { 200: wholeListOf(runEventSchema) },
    },
    async (req) => {
      const events = await listRunEvents(req.ctx, req.params.runId)
      return listAll(events.map(runEventResource))
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
    async (req) => ok(runEventResource(await requireRunEvent(req.ctx, req.params.runEventId))),
  )
}

async function requireRunEvent(ctx: Ctx, id: string): Promise<store.RunEventRow> {
  const row = await store.findRunEvent(ctx.db, id)
  if (!row) throw notFound('run event')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'run event' })
  return row
}

/** Events of a run, oldest first. The list has no pages: clients read all of it at once. */
async function listRunEvents(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return store.listRunEvents(ctx.db, run.id)
}

function runEventResource(event: RunEventRow): RunEventResource {
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

export const runEventLoaders: readonly Loader[] = [
  {
    // Everyone who may read a run may read its events.
    of: 'runs',
    relation: 'run-events',
    load: async (ctx, runs) => {
      const ids = runs.map(({ id }) => id)
      const events = Map.groupBy(await listEventsOfRuns(ctx.db, ids), (event) => event.run_id)
      return new Map(ids.map((id) => [id, (events.get(id) ?? []).map(runEventResource)]))
    },
  },
]
