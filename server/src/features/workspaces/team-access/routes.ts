import { teamProjectIncludes, teamWorkspaceIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { z } from 'zod'
import { invalidParameter } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { requireGrant } from './access.ts'
import { createGrant, deleteGrant, grantResource, listGrants, listGrantsOfTeams, updateGrant } from './service.ts'
import { GRANT_KINDS } from './store.ts'

const ACCESS = {
  workspace: {
    list: [{ workspace: 'workspace:read' }, { team: 'team:read' }],
    read: [{ workspace: 'team-access:read' }, 'team-member'],
    manage: { workspace: 'team-access:manage' },
  },
  project: {
    list: [{ project: 'project:read' }, { team: 'team:read' }],
    read: [{ project: 'team-access:read' }, 'team-member'],
    manage: { project: 'team-access:manage' },
  },
} as const

const MEMBERSHIP = 'filter[organization-membership][id]'

export const teamAccessRoutes: Routes = (http) => {
  for (const kind of Object.values(GRANT_KINDS)) {
    const { noun, schemas } = kind
    const includes = noun === 'workspace' ? teamWorkspaceIncludes : teamProjectIncludes
    const access = ACCESS[noun]
    const filter = `filter[${noun}][id]`
    const all = `/${schemas.type}` as const
    const parameter = noun === 'workspace' ? 'teamWorkspaceId' : 'teamProjectId'
    const one = `${all}/:${parameter}` as const
    const idOf = (params: Readonly<Record<string, string>>) => params[parameter] ?? ''
    const responses = { 200: documentOf(schemas.resource) }

    const list = {
      summary: `List what teams may do to a ${noun}`,
      access: access.list,
      responses: { 200: z.union([pageOf(schemas.resource), wholeListOf(schemas.resource)]) },
      include: includes,
      query: {
        [filter]: text().describe(`the id of a ${noun}; required unless a team or membership is given`),
        'filter[team][id]': text().describe('the id of a team'),
        [MEMBERSHIP]: text().describe('our own: the id of an organization membership, for the access of its teams'),
        q: text().describe(`our own: part of the name, in the list of a team or membership`),
      },
    }
    const create = {
      summary: `Give a team access to a ${noun}`,
      access: access.manage,
      audit: `${noun} add_team`,
      responses: { 201: documentOf(schemas.resource) },
      body: schemas.createBody,
    } as const
    const update = {
      summary: `Change what a team may do to a ${noun}`,
      access: access.manage,
      audit: `${noun} update_team_permissions`,
      responses,
      body: schemas.updateBody,
    } as const
    const remove = {
      summary: `Remove a team's access to a ${noun}`,
      access: access.manage,
      audit: `${noun} remove_team`,
      responses: { 204: null },
    } as const

    http.get(all, list, async (req) => {
      const { [filter]: subjectId, 'filter[team][id]': teamId, [MEMBERSHIP]: membershipId, q } = req.query
      if (subjectId === undefined) {
        const of = membershipId === undefined ? teamId !== undefined && { teamId } : { membershipId }
        if (!of)
          throw invalidParameter(`${filter} is missing: the id of a ${noun}, or of a team in filter[team][id]`, filter)
        const list = await listGrantsOfTeams(req.ctx, kind, { of, q, page: req.page() })
        return req.list(list, (row) => grantResource(kind, row))
      }
      // Without page parameters the list is whole, as in the public API.
      const page = req.pageIfAny()
      const { rows, total } = await listGrants(req.ctx, kind, { subjectId, teamId, page })
      const resources = rows.map((row) => grantResource(kind, row))
      return page ? req.list({ rows: resources, total }) : listAll(resources)
    })
    http.post(all, create, async (req) => created(grantResource(kind, await createGrant(req.ctx, kind, req.body.data))))
    http.get(one, { summary: `Show what a team may do to a ${noun}`, access: access.read, responses }, async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:read' })
      return ok(grantResource(kind, grant))
    })
    http.patch(one, update, async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:manage' })
      return ok(grantResource(kind, await updateGrant(req.ctx, kind, { grant, input: req.body.data.attributes })))
    })
    http.delete(one, remove, async (req) => {
      const grant = await requireGrant(req.ctx, kind, { id: idOf(req.params), permission: 'team-access:manage' })
      await deleteGrant(req.ctx, kind, grant)
    })
  }
}
