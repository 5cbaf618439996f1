import { entitlementSetSchema } from '@groundstate/contract/entitlement-sets'
import { organizationIncludes } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import * as contract from '@groundstate/contract/organizations'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableOrganizations, requireOrganization } from './access.ts'
import { entitlementSetResource, organizationResource } from './resource.ts'
import { createOrganization, deleteOrganization, listOrganizations, updateOrganization } from './service.ts'

const PATH = '/organizations/:organization'

const ORGANIZATION = { 200: documentOf(contract.organizationSchema) }

export const organizationRoutes: Routes = (http) => {
  http.get(
    '/organizations',
    {
      summary: 'List organizations',
      access: 'signed-in',
      responses: { 200: pageOf(contract.organizationSchema) },
      include: organizationIncludes,
      query: {
        q: text().describe('part of the name or of the email address'),
        'q[name]': text().describe('part of the name'),
        'q[email]': text().describe('part of the email address'),
      },
    },
    async (req) => {
      const { q, 'q[name]': name, 'q[email]': email } = req.query
      return req.list(await listOrganizations(req.ctx, { page: req.page(), q, name, email }), organizationResource)
    },
  )
  http.post(
    '/organizations',
    {
      summary: 'Create an organization',
      access: 'person',
      audit: 'organization create',
      responses: { 201: documentOf(contract.organizationSchema) },
      body: contract.createOrganizationBody,
    },
    async (req) => created(organizationResource(await createOrganization(req.ctx, req.body.data.attributes))),
  )
  http.get(
    PATH,
    {
      summary: 'Show an organization',
      access: { organization: 'organization:read' },
      responses: ORGANIZATION,
      include: organizationIncludes,
    },
    async ({ ctx, params }) =>
      ok(organizationResource(await requireOrganization(ctx, params.organization, 'organization:read'))),
  )
  for (const register of [http.patch, http.put]) {
    register(
      PATH,
      {
        summary: 'Update an organization',
        access: { organization: 'organization:update' },
        audit: 'organization update',
        responses: ORGANIZATION,
        body: contract.updateOrganizationBody,
      },
      async ({ ctx, params, body }) =>
        ok(organizationResource(await updateOrganization(ctx, params.organization, body.data))),
    )
  }
  http.delete(
    PATH,
    {
      summary: 'Delete an organization',
      access: { organization: 'organization:delete' },
      audit: 'organization destroy',
      responses: { 204: null },
    },
    async (req) => deleteOrganization(req.ctx, req.params.organization),
  )
  http.get(
    `${PATH}/entitlement-set`,
    {
      summary: 'Show the entitlement set of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: documentOf(entitlementSetSchema) },
    },
    async ({ ctx, params }) =>
      ok(entitlementSetResource(await requireOrganization(ctx, params.organization, 'organization:read'))),
  )
}

export const organizationLoaders: readonly Loader[] = [
  {
    type: 'organizations',
    load: async (ctx, names) => (await listReadableOrganizations(ctx, names, 'name')).map(organizationResource),
  },
  {
    of: 'organizations',
    relation: 'entitlement-set',
    // No query: an entitlement set follows from the plan, an attribute of the organization.
    load: async (_, organizations) => new Map(organizations.map((resource) => [resource.id, entitlementSet(resource)])),
  },
]

function entitlementSet({ id: name, attributes }: Resource) {
  const { 'external-id': id, 'plan-identifier': plan } = attributes as contract.OrganizationResource['attributes']
  return entitlementSetResource({ id, name, plan })
}
