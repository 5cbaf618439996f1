import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/state-version-outputs'
import { API_PREFIX, type Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean } from '../../../http/query.ts'
import { listAll, ok, unstored } from '../../../http/responses.ts'
import type { permissionsBlock } from '../../workspaces/workspaces/access.ts'
import type { Output } from '../state-versions/sealed-outputs.ts'
import { listCurrentOutputs, listStateVersionOutputs, markedOutputs, showStateVersionOutput } from './service.ts'
import { listCurrentOutputsOf, listOutputsOf } from './store.ts'

const READ = { access: { workspace: 'state-outputs:read' } } as const
const show = {
  ...READ,
  summary: 'Show a state version output',
  audit: 'state_version_output read',
  responses: { 200: documentOf(contract.stateVersionOutputSchema) },
} as const
const list = {
  ...READ,
  summary: 'List the outputs of a state version',
  responses: { 200: pageOf(contract.stateVersionOutputSchema) },
  query: { 'withhold-sensitive': boolean().describe('our own: whether the values of sensitive outputs are left out') },
}
const listCurrent = {
  ...READ,
  summary: 'List the outputs of the current state of a workspace',
  responses: { 200: wholeListOf(contract.stateVersionOutputSchema) },
}

export const stateVersionOutputRoutes: Routes = (http) => {
  http.get('/state-version-outputs/:id', show, async (req) =>
    unstored(ok(stateVersionOutputResource(await showStateVersionOutput(req.ctx, req.params.id)))),
  )
  http.get('/state-versions/:id/outputs', list, async (req) => {
    const withheld = req.query['withhold-sensitive'] ?? false
    const outputs = await listStateVersionOutputs(req.ctx, req.params.id, req.page())
    const response = req.list(outputs, (output) => stateVersionOutputResource(output, { withheld }))
    return withheld ? response : unstored(response)
  })
  http.get('/workspaces/:workspaceId/current-state-version-outputs', listCurrent, async (req) => {
    const outputs = await listCurrentOutputs(req.ctx, req.params.workspaceId)
    return listAll(outputs.map((output) => stateVersionOutputResource(output, { withheld: true })))
  })
}

export const stateVersionOutputLoaders: readonly Loader[] = [
  {
    // Sensitive outputs have their values: a caller who sees a version may read the state itself.
    of: 'state-versions',
    relation: 'outputs',
    isSecret: true,
    load: async (ctx, versions) => {
      // A soft-deleted version still has its outputs, but they cannot be read, like the rest of its content.
      const ids = versions.flatMap(({ id, attributes }) => (attributes?.['status'] === 'finalized' ? id : []))
      const outputs = await markedOutputs(ctx, await listOutputsOf(ctx.db, ids))
      const byVersion = Map.groupBy(outputs, ({ row }) => row.state_version_id)
      return new Map(
        ids.map((id) => [id, (byVersion.get(id) ?? []).map(({ output }) => stateVersionOutputResource(output))]),
      )
    },
  },
  {
    of: 'workspaces',
    relation: 'outputs',
    load: async (ctx, workspaces) => {
      const readable = workspaces.flatMap(({ id, attributes }) => {
        const permissions = attributes?.['permissions'] as ReturnType<typeof permissionsBlock>
        return permissions['can-read-state-outputs'] ? id : []
      })
      const outputs = await markedOutputs(ctx, await listCurrentOutputsOf(ctx.db, readable))
      const byWorkspace = Map.groupBy(outputs, ({ row }) => row.workspace_id)
      return new Map(
        workspaces.map(({ id }) => [
          id,
          (byWorkspace.get(id) ?? []).map(({ output }) => workspaceOutputResource(output)),
        ]),
      )
    },
  },
]

/** With `withheld`, the value of a sensitive output is null. */
function stateVersionOutputResource(
  { id, name, sensitive, type, value, detailedType }: Output,
  options: { withheld?: boolean } = {},
): contract.StateVersionOutputResource {
  const shown = options.withheld && sensitive ? null : value
  return {
    id,
    type: 'state-version-outputs',
    attributes: { name, sensitive, type, value: shown, 'detailed-type': detailedType },
    links: { self: `${API_PREFIX}/state-version-outputs/${id}` },
  }
}

/** An output of the current state, included in a workspace; the value of a sensitive one is withheld. */
function workspaceOutputResource(output: Output): contract.WorkspaceOutputResource {
  const { id, name, sensitive, type, value } = output
  return {
    id,
    type: 'workspace-outputs',
    attributes: { name, sensitive, 'output-type': type, value: sensitive ? null : value },
  }
}
