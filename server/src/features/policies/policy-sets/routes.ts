import { policySetIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import {
  appliedPolicySetSchema,
  createPolicySetBody,
  policySetSchema,
  tagSelectorsBody,
  updatePolicySetBody,
} from '@groundstate/contract/policy-sets'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadablePolicySets, requirePolicySet } from './access.ts'
import { appliedPolicySetResource, policySetResource } from './resource.ts'
import { SET_LISTS, changeSetList, changeTagSelectors } from './scope.ts'
import * as service from './service.ts'
import type { ListName } from './store.ts'

const READ = { organization: 'policies:read' } as const
const MANAGE = { organization: 'policies:manage' } as const
const ONE = { responses: { 200: documentOf(policySetSchema) }, include: policySetIncludes }

export const policySetRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/policy-sets',
    {
      summary: 'List policy sets',
      access: READ,
      query: {
        'search[name]': text().describe('part of the name'),
        'filter[kind]': text().describe('`opa`; other kinds have no sets here'),
      },
      include: policySetIncludes,
      responses: { 200: pageOf(policySetSchema) },
    },
    async (req) => {
      const { 'search[name]': search, 'filter[kind]': kind } = req.query
      const query = { page: req.page(), search, kind }
      return req.list(await service.listPolicySets(req.ctx, req.params.organization, query), policySetResource)
    },
  )
  http.post(
    '/organizations/:organization/policy-sets',
    {
      summary: 'Create a policy set',
      access: MANAGE,
      audit: 'policy_set create',
      body: createPolicySetBody,
      include: policySetIncludes,
      responses: { 201: documentOf(policySetSchema) },
    },
    async (req) =>
      created(policySetResource(await service.createPolicySet(req.ctx, req.params.organization, req.body.data))),
  )
  http.get(
    '/workspaces/:workspaceId/applied-policy-sets',
    {
      summary: 'List the policy sets that select a workspace, and why they apply or do not',
      access: { workspace: 'workspace:read', ...READ },
      responses: { 200: pageOf(appliedPolicySetSchema) },
    },
    async (req) =>
      req.list(
        await service.listAppliedPolicySets(req.ctx, req.params.workspaceId, req.page()),
        appliedPolicySetResource,
      ),
  )
  http.get('/policy-sets/:id', { ...ONE, summary: 'Show a policy set', access: READ }, async (req) =>
    ok(policySetResource(await requirePolicySet(req.ctx, req.params.id, 'policies:read'))),
  )
  http.patch(
    '/policy-sets/:id',
    { ...ONE, summary: 'Update a policy set', access: MANAGE, audit: 'policy_set update', body: updatePolicySetBody },
    async (req) => ok(policySetResource(await service.updatePolicySet(req.ctx, req.params.id, req.body.data))),
  )
  http.delete(
    '/policy-sets/:id',
    { summary: 'Delete a policy set', access: MANAGE, audit: 'policy_set destroy', responses: { 204: null } },
    async (req) => service.deletePolicySet(req.ctx, req.params.id),
  )
}

const CHANGES = [
  { method: 'post', change: 'add', verb: 'Add', preposition: 'to' },
  { method: 'delete', change: 'remove', verb: 'Remove', preposition: 'from' },
] as const

export const policySetScopeRoutes: Routes = (http) => {
  for (const { method, change, verb, preposition } of CHANGES) {
    for (const name of Object.keys(SET_LISTS) as ListName[]) {
      http[method](
        `/policy-sets/:id/relationships/${name}`,
        {
          summary: `${verb} ${name.replace('-', ' ')} ${preposition} a policy set`,
          access: MANAGE,
          audit: `policy_set ${change}_${name.replace('-', '_')}`,
          body: identifiersBody(SET_LISTS[name]),
          responses: { 204: null },
        },
        async (req) => changeSetList(req.ctx, req.params.id, { name, change, identifiers: req.body.data }),
      )
    }
    http[method](
      '/policy-sets/:id/tag-selectors',
      {
        summary: `${verb} tag selectors ${preposition} a policy set`,
        access: MANAGE,
        audit: `policy_set ${change}_tag_selectors`,
        body: tagSelectorsBody,
        responses: { 204: null },
      },
      async (req) => changeTagSelectors(req.ctx, req.params.id, { change, selectors: req.body.data }),
    )
  }
}

export const policySetLoaders: readonly Loader[] = [
  { type: 'policy-sets', load: async (ctx, ids) => (await listReadablePolicySets(ctx, ids)).map(policySetResource) },
]
