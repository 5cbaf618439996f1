import { documentOf, pageOf } from '@groundstate/contract/answers'
import { projectIncludes } from '@groundstate/contract/includes'
import { createProjectBody, projectSchema, updateProjectBody } from '@groundstate/contract/projects'
import { z } from 'zod'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean, readList, readSort, readText } from '../../../http/query.ts'
import { requireProject } from './access.ts'
import { createProject } from './create.ts'
import { deleteProject } from './delete.ts'
import { listProjects } from './list.ts'
import { projectResource } from './resource.ts'
import { updateProject } from './update.ts'

const LIST = {
  summary: 'List the projects of an organization',
  answers: { 200: pageOf(projectSchema) },
  include: projectIncludes,
  query: {
    'filter[names]': z.string().describe('names, separated by commas'),
    q: z.string().describe('part of the name'),
    'filter[permissions][update]': z.boolean().describe('true: only projects that the caller may update'),
    'filter[permissions][create-workspace]': z
      .boolean()
      .describe('true: only projects in which the caller may create workspaces'),
    sort: z.enum(['name', '-name']),
  },
}
const CREATE = {
  summary: 'Create a project',
  answers: { 201: documentOf(projectSchema) },
  body: createProjectBody,
}
const SHOW = { summary: 'Show a project', answers: { 200: documentOf(projectSchema) }, include: projectIncludes }
const UPDATE = {
  summary: 'Update a project',
  answers: { 200: documentOf(projectSchema) },
  body: updateProjectBody,
}
const DELETE = { summary: 'Delete a project', answers: { 204: null } }

export const projectRoutes: Routes = (http) => {
  http.get('/organizations/:organization/projects', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listProjects(req.ctx, req.params.organization, {
      page,
      names: readList(req.query, 'filter[names]'),
      q: readText(req.query, 'q'),
      permissions: [
        ...(readBoolean(req.query, 'filter[permissions][update]') ? (['project:update'] as const) : []),
        ...(readBoolean(req.query, 'filter[permissions][create-workspace]') ? (['workspaces:create'] as const) : []),
      ],
      descending: readSort(req.query, ['name'], 'name').descending,
    })
    return listPage({ url: req.url, page }, { rows: rows.map(projectResource), total })
  })
  http.post('/organizations/:organization/projects', CREATE, async (req) => {
    return created(projectResource(await createProject(req.ctx, req.params.organization, req.body.data)))
  })
  http.get('/projects/:id', SHOW, async (req) => {
    return ok(projectResource(await requireProject(req.ctx, req.params.id, 'project:read')))
  })
  http.patch('/projects/:id', UPDATE, async (req) => {
    return ok(projectResource(await updateProject(req.ctx, req.params.id, req.body.data)))
  })
  http.delete('/projects/:id', DELETE, async (req) => {
    await deleteProject(req.ctx, req.params.id)
    return noContent()
  })
}
