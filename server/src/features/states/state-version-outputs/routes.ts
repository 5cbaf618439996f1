import { listAll, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { stateVersionOutputResource } from './resource.ts'
import { listCurrentOutputs, listStateVersionOutputs, showStateVersionOutput } from './service.ts'

export const stateVersionOutputRoutes: Routes = (http) => {
  http.get('/state-version-outputs/:id', async (req) => {
    return ok(stateVersionOutputResource(await showStateVersionOutput(req.ctx, req.params.id)))
  })

  http.get('/state-versions/:id/outputs', async (req) => {
    const page = req.page()
    const { rows, total } = await listStateVersionOutputs(req.ctx, req.params.id, page)
    return listPage({ url: req.url, page }, { rows: rows.map((output) => stateVersionOutputResource(output)), total })
  })

  http.get('/workspaces/:workspaceId/current-state-version-outputs', async (req) => {
    const outputs = await listCurrentOutputs(req.ctx, req.params.workspaceId)
    return listAll(outputs.map((output) => stateVersionOutputResource(output, { withheld: true })))
  })
}
