import { teamAccessIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { requiredText, text } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { requireGrant } from './access.ts'
import { createGrant, deleteGrant, grantResource, listGrants, updateGrant } from './service.ts'
import { GRANT_KINDS } from './store.ts'

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

export const teamAccessRoutes: Routes = (http) => {
  for (const kind of Object.values(GRANT_KINDS)) {
    const { noun, schemas } = kind
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
      include: teamAccessIncludes,
      responses: { 200: z.union([pageOf(schemas.resource), wholeListOf(schemas.resource)]) },
      query: {
        [filter]: requiredText(`is missing: the id of a ${noun}`).describe(`required: the id of a ${noun}`),
        'filter[team][id]': text().describe('the id of a team'),
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
      const { [filter]: subjectId = '', 'filter[team][id]': teamId } = req.query
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
