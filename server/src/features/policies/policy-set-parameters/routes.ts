import {
  type PolicySetParameterResource,
  createPolicySetParameterBody,
  policySetParameterSchema,
  updatePolicySetParameterBody,
} from '@groundstate/contract/policy-sets'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import * as service from './service.ts'
import type { ParameterRow } from './store.ts'

const READ = { organization: 'policies:read' } as const
const MANAGE = { organization: 'policies:manage' } as const
const ONE = { responses: { 200: documentOf(policySetParameterSchema) } }
const PATH = '/policy-sets/:setId/parameters'

export const policySetParameterRoutes: Routes = (http) => {
  http.get(
    PATH,
    {
      summary: 'List the parameters of a policy set',
      access: READ,
      responses: { 200: pageOf(policySetParameterSchema) },
    },
    async (req) =>
      req.list(await service.listParameters(req.ctx, req.params.setId, req.page()), policySetParameterResource),
  )
  http.post(
    PATH,
    {
      summary: 'Create a parameter of a policy set',
      access: MANAGE,
      audit: 'policy_set_parameter create',
      body: createPolicySetParameterBody,
      responses: { 201: documentOf(policySetParameterSchema) },
    },
    async (req) =>
      created(
        policySetParameterResource(await service.createParameter(req.ctx, req.params.setId, req.body.data.attributes)),
      ),
  )
  http.get(`${PATH}/:id`, { ...ONE, summary: 'Show a parameter of a policy set', access: READ }, async (req) =>
    ok(policySetParameterResource(await service.requireParameter(req.ctx, req.params.setId, req.params.id))),
  )
  http.patch(
    `${PATH}/:id`,
    {
      ...ONE,
      summary: 'Update a parameter of a policy set',
      access: MANAGE,
      audit: 'policy_set_parameter update',
      body: updatePolicySetParameterBody,
    },
    async (req) =>
      ok(policySetParameterResource(await service.updateParameter(req.ctx, req.params, req.body.data.attributes))),
  )
  http.delete(
    `${PATH}/:id`,
    {
      summary: 'Delete a parameter of a policy set',
      access: MANAGE,
      audit: 'policy_set_parameter destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteParameter(req.ctx, req.params),
  )
}

function policySetParameterResource(row: ParameterRow): PolicySetParameterResource {
  return {
    id: row.id,
    type: 'vars',
    attributes: { key: row.key, value: row.value, sensitive: row.sensitive, category: 'policy-set' },
    relationships: { configurable: { data: { id: row.policy_set_id, type: 'policy-sets' } } },
    links: { self: `/api/v2/policy-sets/${row.policy_set_id}/parameters/${row.id}` },
  }
}
