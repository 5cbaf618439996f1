import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { z } from 'zod'
import type { Http, Routes } from '../../../http/http.ts'
import { requiredText, text } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { requireGrant } from './access.ts'
import { createGrant, deleteGrant, grantResource, listGrants, updateGrant } from './service.ts'
import { GRANT_KINDS, type GrantKind } from './store.ts'

export const teamAccessRoutes: Routes = (http) => {
  for (const kind of Object.values(GRANT_KINDS)) registerGrants(http, kind)
}

const ACCESS = {
  workspace: {
    list: { workspace: 'workspace:read' },
    read: [{ workspace: 'team-access:read' }, 'team-member'],
    manage: { workspace: 'team-access:manage' },
  },
  project: {
    list: { project: 'project:read' },
    read: [{ project: 'team-access:read' }, 'team-member'],
    manage: { project: 'team-access:manage' },
  },
} as const

function registerGrants(http: Http, kind: GrantKind) {
  const { noun, schemas } = kind
  const access = ACCESS[noun]
  const filter = `filter[${noun}][id]`
  const all = `/${schemas.type}` as const
  const parameter = noun === 'workspace' ? 'teamWorkspaceId' : 'teamProjectId'
  const one = `${all}/:${parameter}` as const
  const idOf = (params: Readonly<Record<string, string>>) => params[parameter] ?? ''
  const ONE = { 200: documentOf(schemas.resource) }

  http.get(
    all,
    {
      summary: `List what teams may do to a ${noun}`,
      access: access.list,
      responses: { 200: z.union([pageOf(schemas.resource), wholeListOf(schemas.resource)]) },
      query: {
        [filter]: requiredText(`is missing: the id of a ${noun}`).describe(`required: the id of a ${noun}`),
        'filter[team][id]': text().describe('the id of a team'),
      },
    },
    async (req) => {
      const { [filter]: subjectId = '', 'filter[team][id]': teamId } = req.query
      // Without page parameters the list is whole, as in the public API.
      const page = req.pageIfAny()
      const { rows, total } = await listGrants(req.ctx, kind, { subjectId, teamId, page })
      const resources = rows.map((row) => grantResource(kind, row))
      return page ? req.list({ rows: resources, total }) : listAll(resources)
    },
  )
  http.post(
    all,
    {
      summary: `Give a team access to a ${noun}`,
      access: access.manage,
      audit: `${noun} add_team`,
      responses: { 201: documentOf(schemas.resource) },
      body: schemas.createBody,
    },
    async (req) => created(grantResource(kind, await createGrant(req.ctx, kind, req.body.data))),
  )
  http.get(
    one,
    { summary: `Show what a team may do to a ${noun}`, access: access.read, responses: ONE },
    async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:read' })
      return ok(grantResource(kind, grant))
    },
  )
  http.patch(
    one,
    {
      summary: `Change what a team may do to a ${noun}`,
      access: access.manage,
      audit: `${noun} update_team_permissions`,
      responses: ONE,
      body: schemas.updateBody,
    },
    async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:manage' })
      const input = req.body.data.attributes
      return ok(grantResource(kind, await updateGrant(req.ctx, kind, { grant, input })))
    },
  )
  http.delete(
    one,
    {
      summary: `Remove a team's access to a ${noun}`,
      access: access.manage,
      audit: `${noun} remove_team`,
      responses: { 204: null },
    },
    async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:manage' })
      await deleteGrant(req.ctx, kind, grant)
    },
  )
}
