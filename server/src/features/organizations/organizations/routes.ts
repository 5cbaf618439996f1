import { entitlementSetSchema } from '@groundstate/contract/entitlement-sets'
import { organizationIncludes } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import {
  type OrganizationResource,
  createOrganizationBody,
  organizationSchema,
  updateOrganizationBody,
} from '@groundstate/contract/organizations'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableOrganizationsNamed, requireOrganization } from './access.ts'
import { entitlementSetResource, organizationResource } from './resource.ts'
import { createOrganization, deleteOrganization, listOrganizations, updateOrganization } from './service.ts'

const PATH = '/organizations/:organization'

const LIST = {
  summary: 'List organizations',
  access: 'signed-in',
  responses: { 200: pageOf(organizationSchema) },
  include: organizationIncludes,
  query: {
    q: text().describe('part of the name or of the email address'),
    'q[name]': text().describe('part of the name'),
    'q[email]': text().describe('part of the email address'),
  },
} as const
const CREATE = {
  summary: 'Create an organization',
  access: 'person',
  audit: 'organization create',
  responses: { 201: documentOf(organizationSchema) },
  body: createOrganizationBody,
} as const
const SHOW = {
  summary: 'Show an organization',
  access: { organization: 'organization:read' },
  responses: { 200: documentOf(organizationSchema) },
  include: organizationIncludes,
} as const
const UPDATE = {
  summary: 'Update an organization',
  access: { organization: 'organization:update' },
  audit: 'organization update',
  responses: { 200: documentOf(organizationSchema) },
  body: updateOrganizationBody,
} as const
const DELETE = {
  summary: 'Delete an organization',
  access: { organization: 'organization:delete' },
  audit: 'organization destroy',
  responses: { 204: null },
} as const
const SHOW_ENTITLEMENTS = {
  summary: 'Show the entitlement set of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: documentOf(entitlementSetSchema) },
} as const

export const organizationRoutes: Routes = (http) => {
  http.get('/organizations', LIST, async (req) => {
    return req.list(
      await listOrganizations(req.ctx, {
        page: req.page(),
        q: req.query.q,
        name: req.query['q[name]'],
        email: req.query['q[email]'],
      }),
      organizationResource,
    )
  })
  http.post('/organizations', CREATE, async (req) => {
    return created(organizationResource(await createOrganization(req.ctx, req.body.data.attributes)))
  })
  http.get(PATH, SHOW, async (req) => {
    return ok(organizationResource(await requireOrganization(req.ctx, req.params.organization, 'organization:read')))
  })
  http.patch(PATH, UPDATE, async (req) => {
    return ok(organizationResource(await updateOrganization(req.ctx, req.params.organization, req.body.data)))
  })
  http.put(PATH, UPDATE, async (req) => {
    return ok(organizationResource(await updateOrganization(req.ctx, req.params.organization, req.body.data)))
  })
  http.delete(PATH, DELETE, async (req) => deleteOrganization(req.ctx, req.params.organization))
  http.get(`${PATH}/entitlement-set`, SHOW_ENTITLEMENTS, async (req) => {
    return ok(entitlementSetResource(await requireOrganization(req.ctx, req.params.organization, 'organization:read')))
  })
}

export const organizationLoaders: readonly Loader[] = [
  {
    type: 'organizations',
    load: async (ctx, names) => (await listReadableOrganizationsNamed(ctx, names)).map(organizationResource),
  },
  {
    of: 'organizations',
    relation: 'entitlement-set',
    // An entitlement set follows from the plan, which the organization shows: it takes no query.
    load: async (_, organizations) => new Map(organizations.map((resource) => [resource.id, entitlementSet(resource)])),
  },
]

function entitlementSet({ id: name, attributes }: Resource) {
  const { 'external-id': id, 'plan-identifier': plan } = attributes as OrganizationResource['attributes']
  return entitlementSetResource({ id, name, plan })
}
