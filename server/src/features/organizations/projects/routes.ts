import { projectIncludes } from '@groundstate/contract/includes'
import { createProjectBody, projectSchema, updateProjectBody } from '@groundstate/contract/projects'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { boolean, sortBy, text, textList } from '../../../http/query.ts'
import { created, listPage, noContent, ok } from '../../../http/responses.ts'
import { createProject } from './create.ts'
import { deleteProject } from './delete.ts'
import { listProjects } from './list.ts'
import { projectResource } from './resource.ts'
import { showProject } from './show.ts'
import { updateProject } from './update.ts'

const LIST = {
  summary: 'List the projects of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(projectSchema) },
  include: projectIncludes,
  query: {
    'filter[names]': textList().describe('names'),
    q: text().describe('part of the name'),
    'filter[permissions][update]': boolean().describe('true: only projects that the caller may update'),
    'filter[permissions][create-workspace]': boolean().describe(
      'true: only projects in which the caller may create workspaces',
    ),
    sort: sortBy(['name'], 'name'),
  },
} as const
const CREATE = {
  summary: 'Create a project',
  access: { organization: 'projects:create' },
  audit: 'project create',
  responses: { 201: documentOf(projectSchema) },
  body: createProjectBody,
} as const
const SHOW = {
  summary: 'Show a project',
  access: { project: 'project:read' },
  responses: { 200: documentOf(projectSchema) },
  include: projectIncludes,
} as const
const UPDATE = {
  summary: 'Update a project',
  access: { project: 'project:update' },
  audit: 'project update',
  responses: { 200: documentOf(projectSchema) },
  body: updateProjectBody,
} as const
const DELETE = {
  summary: 'Delete a project',
  access: { project: 'project:delete' },
  audit: 'project destroy',
  responses: { 204: null },
} as const

export const projectRoutes: Routes = (http) => {
  http.get('/organizations/:organization/projects', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listProjects(req.ctx, req.params.organization, {
      page,
      names: req.query['filter[names]'],
      q: req.query.q,
      permissions: [
        ...(req.query['filter[permissions][update]'] ? (['project:update'] as const) : []),
        ...(req.query['filter[permissions][create-workspace]'] ? (['workspaces:create'] as const) : []),
      ],
      descending: req.query.sort.descending,
    })
    return listPage({ url: req.url, page }, { rows: rows.map(projectResource), total })
  })
  http.post('/organizations/:organization/projects', CREATE, async (req) => {
    return created(projectResource(await createProject(req.ctx, req.params.organization, req.body.data)))
  })
  http.get('/projects/:id', SHOW, async (req) => {
    return ok(projectResource(await showProject(req.ctx, req.params.id)))
  })
  http.patch('/projects/:id', UPDATE, async (req) => {
    return ok(projectResource(await updateProject(req.ctx, req.params.id, req.body.data)))
  })
  http.delete('/projects/:id', DELETE, async (req) => {
    await deleteProject(req.ctx, req.params.id)
    return noContent()
  })
}
