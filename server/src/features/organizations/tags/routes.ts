import { wholeListOf } from '@groundstate/contract/responses'
import { effectiveTagBindingSchema, tagBindingSchema, tagBindingsBody } from '@groundstate/contract/tags'
import type { Routes } from '../../../http/http.ts'
import { listAll, noContent } from '../../../http/responses.ts'
import { changeProjectTagBindings } from './change-project-tags.ts'
import { listProjectEffectiveTagBindings, listProjectTagBindings } from './list-project-tags.ts'
import { effectiveTagBindingResource, tagBindingResource } from './resource.ts'

const LIST = {
  summary: 'List the tag bindings of a project',
  access: { project: 'project:read' },
  responses: { 200: wholeListOf(tagBindingSchema) },
} as const
const ADD = {
  summary: 'Add tag bindings to a project',
  access: { project: 'tags:manage' },
  audit: 'project add_tags',
  responses: { 204: null },
  body: tagBindingsBody,
} as const

/** Tags with values. Clients write the paths with and without `relationships`. */
export const projectTagBindingRoutes: Routes = (http) => {
  for (const path of ['/projects/:id/tag-bindings', '/projects/:id/relationships/tag-bindings'] as const) {
    http.get(path, LIST, async (req) => {
      return listAll((await listProjectTagBindings(req.ctx, req.params.id)).map(tagBindingResource))
    })
    http.post(path, ADD, async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeProjectTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
      return noContent()
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
      return noContent()
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
