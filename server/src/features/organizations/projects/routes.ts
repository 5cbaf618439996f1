import { createProjectBody, updateProjectBody } from '@groundstate/contract/projects'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean, readList, readSort, readText } from '../../../http/query.ts'
import { projectResource } from './resource.ts'
import { createProject } from './create.ts'
import { deleteProject } from './delete.ts'
import { listProjects } from './list.ts'
import { requireProject } from './access.ts'
import { updateProject } from './update.ts'

const INCLUDES = ['effective_tag_bindings'] as const

export const projectRoutes: Routes = (http) => {
  http.get('/organizations/:organization/projects', { include: INCLUDES }, async (req) => {
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
  http.post('/organizations/:organization/projects', { body: createProjectBody }, async (req) => {
    return created(projectResource(await createProject(req.ctx, req.params.organization, req.body.data)))
  })
  http.get('/projects/:id', { include: INCLUDES }, async (req) => {
    return ok(projectResource(await requireProject(req.ctx, req.params.id, 'project:read')))
  })
  http.patch('/projects/:id', { body: updateProjectBody }, async (req) => {
    return ok(projectResource(await updateProject(req.ctx, req.params.id, req.body.data)))
  })
  http.delete('/projects/:id', async (req) => {
    await deleteProject(req.ctx, req.params.id)
    return noContent()
  })
}
