import { runEventIncludes } from '@groundstate/contract/includes'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { runEventSchema } from '@groundstate/contract/run-events'
import type { Routes } from '../../../http/http.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { requireRunEvent } from './access.ts'
import { listRunEvents } from './list.ts'
import { runEventResource } from './resource.ts'

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
