import { documentOf } from '@groundstate/contract/answers'
import { runDecidersIncludes } from '@groundstate/contract/includes'
import { runDecidersSchema } from '@groundstate/contract/run-deciders'
import { ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { listRunDeciders } from './list.ts'
import { runDecidersResource } from './resource.ts'

export const runDeciderRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/deciders',
    {
      summary: 'Show which teams can unblock a run',
      access: { workspace: 'runs:read' },
      include: runDecidersIncludes,
      answers: { 200: documentOf(runDecidersSchema) },
    },
    async (req) => ok(runDecidersResource(await listRunDeciders(req.ctx, req.params.runId))),
  )
}
