import { runDecidersIncludes } from '@groundstate/contract/includes'
import { documentOf } from '@groundstate/contract/responses'
import { runDecidersSchema } from '@groundstate/contract/runs'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { listRunDeciders } from './list.ts'
import { runDecidersResource } from './resource.ts'

export const runDeciderRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/deciders',
    {
      summary: 'Show which teams can unblock a run',
      access: { workspace: 'runs:read' },
      include: runDecidersIncludes,
      responses: { 200: documentOf(runDecidersSchema) },
    },
    async (req) => ok(runDecidersResource(await listRunDeciders(req.ctx, req.params.runId))),
  )
}
