import { identifiersBody } from '@groundstate/contract/json-api'
import { pageOf } from '@groundstate/contract/responses'
import { workspaceSchema } from '@groundstate/contract/workspaces'
import type { Routes } from '../../../http/http.ts'
import { listPage, noContent } from '../../../http/responses.ts'
import { addRemoteStateConsumers, removeRemoteStateConsumers, replaceRemoteStateConsumers } from './change-consumers.ts'
import { listRemoteStateConsumers } from './list-consumers.ts'
import { workspaceResource } from './resource.ts'

const PATH = '/workspaces/:id/relationships/remote-state-consumers'
const LIST = {
  summary: 'List the remote state consumers of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: pageOf(workspaceSchema) },
} as const
const CHANGE = {
  access: { workspace: 'workspace:update' },
  body: identifiersBody('workspaces'),
  responses: { 204: null },
} as const

export const consumerRoutes: Routes = (http) => {
  http.get(PATH, LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listRemoteStateConsumers(req.ctx, req.params.id, page)
    return listPage({ url: req.url, page }, { rows: rows.map((row) => workspaceResource(row)), total })
  })
  http.post(
    PATH,
    { ...CHANGE, summary: 'Add remote state consumers to a workspace', audit: 'workspace add_remote_state_consumers' },
    async (req) => {
      await addRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
  http.patch(
    PATH,
    {
      ...CHANGE,
      summary: 'Replace the remote state consumers of a workspace',
      audit: 'workspace replace_remote_state_consumers',
    },
    async (req) => {
      await replaceRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
  http.delete(
    PATH,
    {
      ...CHANGE,
      summary: 'Remove remote state consumers from a workspace',
      audit: 'workspace remove_remote_state_consumers',
    },
    async (req) => {
      await removeRemoteStateConsumers(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
}
