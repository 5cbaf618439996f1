import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import type { Routes } from '../../../http/http.ts'
import { boolean } from '../../../http/query.ts'
import { listAll, ok, unstored } from '../../../http/responses.ts'
import { stateVersionOutputResource } from './resource.ts'
import { listCurrentOutputs, listStateVersionOutputs, showStateVersionOutput } from './service.ts'

const show = {
  summary: 'Show a state version output',
  access: { workspace: 'state-outputs:read' },
  audit: 'state_version_output read',
  responses: { 200: documentOf(stateVersionOutputSchema) },
} as const
const list = {
  summary: 'List the outputs of a state version',
  access: { workspace: 'state-outputs:read' },
  responses: { 200: pageOf(stateVersionOutputSchema) },
  query: {
    'withhold-sensitive': boolean().describe('our own: whether the values of sensitive outputs are left out'),
  },
} as const
const listCurrent = {
  summary: 'List the outputs of the current state of a workspace',
  access: { workspace: 'state-outputs:read' },
  responses: { 200: wholeListOf(stateVersionOutputSchema) },
} as const

export const stateVersionOutputRoutes: Routes = (http) => {
  http.get('/state-version-outputs/:id', show, async (req) => {
    return unstored(ok(stateVersionOutputResource(await showStateVersionOutput(req.ctx, req.params.id))))
  })

  http.get('/state-versions/:id/outputs', list, async (req) => {
    const withheld = req.query['withhold-sensitive'] ?? false
    const { rows, total } = await listStateVersionOutputs(req.ctx, req.params.id, req.page())
    const resources = rows.map((output) => stateVersionOutputResource(output, { withheld }))
    const response = req.list({ rows: resources, total })
    return withheld ? response : unstored(response)
  })

  http.get('/workspaces/:workspaceId/current-state-version-outputs', listCurrent, async (req) => {
    const outputs = await listCurrentOutputs(req.ctx, req.params.workspaceId)
    return listAll(outputs.map((output) => stateVersionOutputResource(output, { withheld: true })))
  })
}
