import { projectIncludes } from '@groundstate/contract/includes'
import { createProjectBody, projectSchema, updateProjectBody } from '@groundstate/contract/projects'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { effectiveTagBindingSchema, tagBindingSchema, tagBindingsBody } from '@groundstate/contract/tags'
import type { z } from 'zod'
import { reaction } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, sortBy, text, textList } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { organizationCreating } from '../organizations/access.ts'
import { effectiveTagBindingResource, tagBindingResource } from '../tags/resource.ts'
import type { TagChange } from '../tags/service.ts'
import { projectResource } from './resource.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/projects'
const ONE = '/projects/:id'
const PROJECT = { 200: documentOf(projectSchema) }

export const projectRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
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
    },
    async (req) => {
      const query = {
        page: req.page(),
        names: req.query['filter[names]'],
        q: req.query.q,
        permissions: [
          ...(req.query['filter[permissions][update]'] ? (['project:update'] as const) : []),
          ...(req.query['filter[permissions][create-workspace]'] ? (['workspaces:create'] as const) : []),
        ],
        descending: req.query.sort.descending,
      }
      return req.list(await service.listProjects(req.ctx, req.params.organization, query), projectResource)
    },
  )
  http.post(
    OF_ORGANIZATION,
    {
      summary: 'Create a project',
      access: { organization: 'projects:create' },
      audit: 'project create',
      responses: { 201: documentOf(projectSchema) },
      body: createProjectBody,
    },
    async ({ ctx, params, body }) =>
      created(projectResource(await service.createProject(ctx, params.organization, body.data))),
  )
  http.get(
    ONE,
    { summary: 'Show a project', access: { project: 'project:read' }, responses: PROJECT, include: projectIncludes },
    async (req) => ok(projectResource(await service.showProject(req.ctx, req.params.id))),
  )
  http.patch(
    ONE,
    {
      summary: 'Update a project',
      access: { project: 'project:update' },
      audit: 'project update',
      responses: PROJECT,
      body: updateProjectBody,
    },
    async (req) => ok(projectResource(await service.updateProject(req.ctx, req.params.id, req.body.data))),
  )
  http.delete(
    ONE,
    {
      summary: 'Delete a project',
      access: { project: 'project:delete' },
      audit: 'project destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteProject(req.ctx, req.params.id),
  )
}

export const projectLoaders: readonly Loader[] = [
  { type: 'projects', load: async (ctx, ids) => (await service.showProjects(ctx, ids)).map(projectResource) },
  {
    of: 'projects',
    relation: 'effective-tag-bindings',
    load: async (ctx, projects) => {
      const ids = projects.map((project) => project.id)
      const bindings = await service.listEffectiveProjectTagBindings(ctx, ids)
      return new Map(ids.map((id) => [id, (bindings.get(id) ?? []).map(effectiveTagBindingResource)]))
    },
  },
]

const BINDINGS = { 200: wholeListOf(tagBindingSchema) }
const CHANGE = { access: { project: 'tags:manage' }, body: tagBindingsBody } as const

/** Tags with values. Clients use paths with and without `relationships`. */
export const projectTagBindingRoutes: Routes = (http) => {
  for (const path of ['/projects/:id/tag-bindings', '/projects/:id/relationships/tag-bindings'] as const) {
    http.get(
      path,
      { summary: 'List the tag bindings of a project', access: { project: 'project:read' }, responses: BINDINGS },
      async (req) => listAll((await service.listProjectTagBindings(req.ctx, req.params.id)).map(tagBindingResource)),
    )
    http.post(
      path,
      { ...CHANGE, summary: 'Add tag bindings to a project', audit: 'project add_tags', responses: { 204: null } },
      async ({ ctx, params, body }) => {
        await service.changeProjectTagBindings(ctx, params.id, change('merge', body))
      },
    )
  }
  // The short path merges and returns the list; the path of the relationship replaces, as JSON:API requires.
  http.patch(
    '/projects/:id/tag-bindings',
    { ...CHANGE, summary: 'Add or change tag bindings of a project', audit: 'project add_tags', responses: BINDINGS },
    async ({ ctx, params, body }) => {
      const rows = await service.changeProjectTagBindings(ctx, params.id, change('merge', body))
      return listAll(rows.map(tagBindingResource))
    },
  )
  http.patch(
    '/projects/:id/relationships/tag-bindings',
    {
      ...CHANGE,
      summary: 'Replace the tag bindings of a project',
      audit: 'project replace_tags',
      responses: { 204: null },
    },
    async ({ ctx, params, body }) => {
      await service.changeProjectTagBindings(ctx, params.id, change('replace', body))
    },
  )
  http.get(
    '/projects/:id/effective-tag-bindings',
    {
      summary: 'List the effective tag bindings of a project',
      access: { project: 'project:read' },
      responses: { 200: wholeListOf(effectiveTagBindingSchema) },
    },
    async ({ ctx, params }) => {
      const rows = await service.listProjectEffectiveTagBindings(ctx, params.id)
      return listAll(rows.map(effectiveTagBindingResource))
    },
  )
}

function change(kind: TagChange['change'], { data }: z.infer<typeof tagBindingsBody>): TagChange {
  return { change: kind, bindings: data.map(({ attributes }) => attributes) }
}

export const projectReactions = [
  reaction(organizationCreating, async (ctx, { organizationId }) => service.insertDefaultProject(ctx, organizationId)),
]
