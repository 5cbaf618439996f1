import { identifiersBody } from '@groundstate/contract/json-api'
import { pageOf, wholeListOf } from '@groundstate/contract/responses'
import {
  type TagResource,
  effectiveTagBindingSchema,
  tagBindingSchema,
  tagBindingsBody,
  tagSchema,
  tagsBody,
} from '@groundstate/contract/tags'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { listAll } from '../../../http/responses.ts'
import { effectiveTagBindingResource, tagBindingResource } from '../../organizations/tags/resource.ts'
import {
  addWorkspaceTags,
  addWorkspacesToTag,
  changeWorkspaceTagBindings,
  deleteTags,
  listTags,
  listEffectiveTagBindings,
  listWorkspaceEffectiveTagBindings,
  listWorkspaceTagBindings,
  listWorkspaceTags,
  removeWorkspaceTags,
} from './service.ts'
import type { Tag } from './store.ts'

const LIST = {
  summary: 'List the tag bindings of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: wholeListOf(tagBindingSchema) },
} as const
const ADD = {
  summary: 'Add tag bindings to a workspace',
  access: { workspace: 'tags:manage' },
  audit: 'workspace add_tags',
  responses: { 204: null },
  body: tagBindingsBody,
} as const

/** Tags with values. Clients write the paths with and without `relationships`. */
export const workspaceTagBindingRoutes: Routes = (http) => {
  for (const path of ['/workspaces/:id/tag-bindings', '/workspaces/:id/relationships/tag-bindings'] as const) {
    http.get(path, LIST, async (req) => {
      return listAll((await listWorkspaceTagBindings(req.ctx, req.params.id)).map(tagBindingResource))
    })
    http.post(path, ADD, async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
    })
  }
  // The short path merges and answers with the list; the relation's path replaces, as a relation does.
  http.patch(
    '/workspaces/:id/tag-bindings',
    {
      summary: 'Add or change tag bindings of a workspace',
      access: { workspace: 'tags:manage' },
      audit: 'workspace add_tags',
      responses: { 200: wholeListOf(tagBindingSchema) },
      body: tagBindingsBody,
    },
    async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      const rows = await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
      return listAll(rows.map(tagBindingResource))
    },
  )
  http.patch(
    '/workspaces/:id/relationships/tag-bindings',
    {
      summary: 'Replace the tag bindings of a workspace',
      access: { workspace: 'tags:manage' },
      audit: 'workspace replace_tags',
      responses: { 204: null },
      body: tagBindingsBody,
    },
    async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'replace', bindings })
    },
  )
  http.get(
    '/workspaces/:id/effective-tag-bindings',
    {
      summary: 'List the tag bindings of a workspace and its project',
      access: { workspace: 'workspace:read' },
      responses: { 200: wholeListOf(effectiveTagBindingSchema) },
    },
    async (req) => {
      return listAll((await listWorkspaceEffectiveTagBindings(req.ctx, req.params.id)).map(effectiveTagBindingResource))
    },
  )
}

/** Flat tags, the older interface: tags that are names. */
export const workspaceTagRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:id/relationships/tags',
    {
      summary: 'List the tags of a workspace',
      access: { workspace: 'workspace:read' },
      responses: { 200: pageOf(tagSchema) },
      query: { name: text().describe('part of the name') },
    },
    async (req) => {
      const { rows, total, organization } = await listWorkspaceTags(req.ctx, req.params.id, {
        page: req.page(),
        name: req.query.name,
      })
      return req.list({ rows, total }, (tag) => tagResource(tag, organization))
    },
  )
  http.post(
    '/workspaces/:id/relationships/tags',
    {
      summary: 'Add tags to a workspace',
      access: { workspace: 'tags:manage' },
      audit: 'workspace add_tags',
      responses: { 204: null },
      body: tagsBody,
    },
    async (req) => addWorkspaceTags(req.ctx, req.params.id, req.body.data),
  )
  http.delete(
    '/workspaces/:id/relationships/tags',
    {
      summary: 'Remove tags from a workspace',
      access: { workspace: 'tags:manage' },
      audit: 'workspace remove_tags',
      responses: { 204: null },
      body: tagsBody,
    },
    async (req) => removeWorkspaceTags(req.ctx, req.params.id, req.body.data),
  )
}

/** The flat tags of an organization's workspaces. */
export const tagRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/tags',
    {
      summary: 'List the tags of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: pageOf(tagSchema) },
      query: {
        q: text().describe('part of the name'),
        'filter[exclude][taggable][id]': text().describe('the id of a workspace: leaves out the tags it has'),
      },
    },
    async (req) => {
      const { q, 'filter[exclude][taggable][id]': exclude } = req.query
      const { rows, total, organization } = await listTags(req.ctx, req.params.organization, {
        page: req.page(),
        q,
        exclude,
      })
      return req.list({ rows, total }, (tag) => tagResource(tag, organization))
    },
  )
  http.delete(
    '/organizations/:organization/tags',
    {
      summary: 'Delete tags from every workspace of an organization',
      access: { organization: 'tags:manage' },
      audit: 'organization remove_tags',
      responses: { 204: null },
      body: identifiersBody('tags'),
    },
    async (req) => deleteTags(req.ctx, req.params.organization, req.body.data),
  )
  http.post(
    '/tags/:id/relationships/workspaces',
    {
      summary: 'Add a tag to workspaces',
      access: { workspace: 'tags:manage' },
      audit: 'workspace add_tags',
      responses: { 204: null },
      body: identifiersBody('workspaces'),
    },
    async (req) => addWorkspacesToTag(req.ctx, req.params.id, req.body.data),
  )
}

/** A tag as the older interface has it: a name that workspaces share. */
function tagResource(tag: Tag, organizationName: string): TagResource {
  return {
    id: tag.tag_id,
    type: 'tags',
    attributes: { name: tag.key, 'created-at': tag.created_at, 'instance-count': tag.instance_count },
    relationships: { organization: { data: { id: organizationName, type: 'organizations' } } },
  }
}

export const workspaceTagLoaders: readonly Loader[] = [
  {
    of: 'workspaces',
    relation: 'effective-tag-bindings',
    load: async (ctx, workspaces) => {
      const ids = workspaces.map(({ id }) => id)
      const bindings = await listEffectiveTagBindings(ctx, ids)
      return new Map(ids.map((id) => [id, (bindings.get(id) ?? []).map(effectiveTagBindingResource)]))
    },
  },
]
