import { identifiersBody } from '@groundstate/contract/json-api'
import { listPage, noContent } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { addRemoteStateConsumers, removeRemoteStateConsumers, replaceRemoteStateConsumers } from './change-consumers.ts'
import { workspaceResource } from './resource.ts'
import { listRemoteStateConsumers } from './list-consumers.ts'

const PATH = '/workspaces/:id/relationships/remote-state-consumers'
const BODY = { body: identifiersBody('workspaces') }

export const consumerRoutes: Routes = (http) => {
  http.get(PATH, async (req) => {
    const page = req.page()
    const { rows, total } = await listRemoteStateConsumers(req.ctx, req.params.id, page)
    return listPage({ url: req.url, page }, { rows: rows.map((row) => workspaceResource(row)), total })
  })
  http.post(PATH, BODY, async (req) => {
    await addRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.patch(PATH, BODY, async (req) => {
    await replaceRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.delete(PATH, BODY, async (req) => {
    await removeRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
}
