import { projectIncludes } from '@groundstate/contract/includes'
import { createProjectBody, projectSchema, updateProjectBody } from '@groundstate/contract/projects'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { effectiveTagBindingSchema, tagBindingSchema, tagBindingsBody } from '@groundstate/contract/tags'
import { reaction } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, sortBy, text, textList } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { organizationCreating } from '../organizations/access.ts'
import { effectiveTagBindingResource, tagBindingResource } from '../tags/resource.ts'
import { projectResource } from './resource.ts'
import {
  changeProjectTagBindings,
  createProject,
  deleteProject,
  insertDefaultProject,
  listEffectiveProjectTagBindings,
  listProjectEffectiveTagBindings,
  listProjectTagBindings,
  listProjects,
  showProject,
  showProjects,
  updateProject,
} from './service.ts'

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
    return req.list(
      await listProjects(req.ctx, req.params.organization, {
        page: req.page(),
        names: req.query['filter[names]'],
        q: req.query.q,
        permissions: [
          ...(req.query['filter[permissions][update]'] ? (['project:update'] as const) : []),
          ...(req.query['filter[permissions][create-workspace]'] ? (['workspaces:create'] as const) : []),
        ],
        descending: req.query.sort.descending,
      }),
      projectResource,
    )
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
  http.delete('/projects/:id', DELETE, async (req) => deleteProject(req.ctx, req.params.id))
}

export const projectLoaders: readonly Loader[] = [
  { type: 'projects', load: async (ctx, ids) => (await showProjects(ctx, ids)).map(projectResource) },
  {
    of: 'projects',
    relation: 'effective-tag-bindings',
    load: async (ctx, projects) => {
      const ids = projects.map((project) => project.id)
      const bindings = await listEffectiveProjectTagBindings(ctx, ids)
      return new Map(ids.map((id) => [id, (bindings.get(id) ?? []).map(effectiveTagBindingResource)]))
    },
  },
]

export const LIST_TAG_BINDINGS = {
  summary: 'List the tag bindings of a project',
  access: { project: 'project:read' },
  responses: { 200: wholeListOf(tagBindingSchema) },
} as const

export const ADD_TAG_BINDINGS = {
  summary: 'Add tag bindings to a project',
  access: { project: 'tags:manage' },
  audit: 'project add_tags',
  responses: { 204: null },
  body: tagBindingsBody,
} as const

/** Tags with values. Clients write the paths with and without `relationships`. */
export const projectTagBindingRoutes: Routes = (http) => {
  for (const path of ['/projects/:id/tag-bindings', '/projects/:id/relationships/tag-bindings'] as const) {
    http.get(path, LIST_TAG_BINDINGS, async (req) => {
      return listAll((await listProjectTagBindings(req.ctx, req.params.id)).map(tagBindingResource))
    })
    http.post(path, ADD_TAG_BINDINGS, async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeProjectTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
    })
  }
  // The short path merges and answers with the list; the relation's path replaces, as a relation does.
  http.patch(
    '/projects/:id/tag-bindings',
    {
      summary: 'Add or change tag bindings of a project',
      access: { project: 'tags:manage' },
      audit: 'project add_tags',
      responses: { 200: wholeListOf(tagBindingSchema) },
      body: tagBindingsBody,
    },
    async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      const rows = await changeProjectTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
      return listAll(rows.map(tagBindingResource))
    },
  )
  http.patch(
    '/projects/:id/relationships/tag-bindings',
    {
      summary: 'Replace the tag bindings of a project',
      access: { project: 'tags:manage' },
      audit: 'project replace_tags',
      responses: { 204: null },
      body: tagBindingsBody,
    },
    async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeProjectTagBindings(req.ctx, req.params.id, { change: 'replace', bindings })
    },
  )
  http.get(
    '/projects/:id/effective-tag-bindings',
    {
      summary: 'List the tag bindings in force on the workspaces of a project',
      access: { project: 'project:read' },
      responses: { 200: wholeListOf(effectiveTagBindingSchema) },
    },
    async (req) => {
      return listAll((await listProjectEffectiveTagBindings(req.ctx, req.params.id)).map(effectiveTagBindingResource))
    },
  )
}

export const projectReactions = [
  reaction(organizationCreating, async (ctx, { organizationId }) => insertDefaultProject(ctx, organizationId)),
]
