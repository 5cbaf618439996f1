import { identifiersBody } from '@groundstate/contract/json-api'
import { pageOf, wholeListOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/tags'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { listAll } from '../../../http/responses.ts'
import { effectiveTagBindingResource, tagBindingResource } from '../../organizations/tags/resource.ts'
import * as service from './service.ts'
import type { Tag, TagValue } from './store.ts'

const READ = { access: { workspace: 'workspace:read' } } as const
const ADD = { access: { workspace: 'tags:manage' }, audit: 'workspace add_tags' } as const
const NO_CONTENT = { responses: { 204: null } }

const LIST_BINDINGS = {
  ...READ,
  summary: 'List the tag bindings of a workspace',
  responses: { 200: wholeListOf(contract.tagBindingSchema) },
}
const ADD_BINDINGS = {
  ...ADD,
  ...NO_CONTENT,
  summary: 'Add tag bindings to a workspace',
  body: contract.tagBindingsBody,
}
const MERGE_BINDINGS = {
  ...ADD,
  summary: 'Add or change tag bindings of a workspace',
  responses: { 200: wholeListOf(contract.tagBindingSchema) },
  body: contract.tagBindingsBody,
}
const REPLACE_BINDINGS = {
  ...NO_CONTENT,
  summary: 'Replace the tag bindings of a workspace',
  access: { workspace: 'tags:manage' },
  audit: 'workspace replace_tags',
  body: contract.tagBindingsBody,
} as const
const LIST_EFFECTIVE_BINDINGS = {
  ...READ,
  summary: 'List the tag bindings of a workspace and its project',
  responses: { 200: wholeListOf(contract.effectiveTagBindingSchema) },
}

/** Tags with values. Clients use the paths with and without `relationships`. */
export const workspaceTagBindingRoutes: Routes = (http) => {
  const short = '/workspaces/:id/tag-bindings'
  const relation = '/workspaces/:id/relationships/tag-bindings'
  for (const path of [short, relation] as const) {
    http.get(path, LIST_BINDINGS, async (req) =>
      listAll((await service.listWorkspaceTagBindings(req.ctx, req.params.id)).map(tagBindingResource)),
    )
    http.post(path, ADD_BINDINGS, async (req) => {
      await service.changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'merge', bindings: bindingsIn(req) })
    })
  }
  // The short path merges and responds with the list; the path of the relation replaces.
  http.patch(short, MERGE_BINDINGS, async (req) => {
    const change = { change: 'merge', bindings: bindingsIn(req) } as const
    return listAll((await service.changeWorkspaceTagBindings(req.ctx, req.params.id, change)).map(tagBindingResource))
  })
  http.patch(relation, REPLACE_BINDINGS, async (req) => {
    await service.changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'replace', bindings: bindingsIn(req) })
  })
  http.get('/workspaces/:id/effective-tag-bindings', LIST_EFFECTIVE_BINDINGS, async (req) =>
    listAll((await service.listWorkspaceEffectiveTagBindings(req.ctx, req.params.id)).map(effectiveTagBindingResource)),
  )
}

function bindingsIn<Binding>({ body }: { body: { data: readonly { attributes: Binding }[] } }) {
  return body.data.map((tag) => tag.attributes)
}

const LIST_TAGS = {
  ...READ,
  summary: 'List the tags of a workspace',
  responses: { 200: pageOf(contract.tagSchema) },
  query: { name: text().describe('part of the name') },
}
const ADD_TAGS = { ...ADD, ...NO_CONTENT, summary: 'Add tags to a workspace', body: contract.tagsBody }
const REMOVE_TAGS = {
  ...NO_CONTENT,
  summary: 'Remove tags from a workspace',
  access: { workspace: 'tags:manage' },
  audit: 'workspace remove_tags',
  body: contract.tagsBody,
} as const

/** Flat tags, the legacy API: tags without values. */
export const workspaceTagRoutes: Routes = (http) => {
  const path = '/workspaces/:id/relationships/tags'
  http.get(path, LIST_TAGS, async (req) => {
    const { name } = req.query
    const { organization, ...tags } = await service.listWorkspaceTags(req.ctx, req.params.id, {
      page: req.page(),
      name,
    })
    return req.list(tags, (tag) => tagResource(tag, organization))
  })
  http.post(path, ADD_TAGS, async (req) => service.addWorkspaceTags(req.ctx, req.params.id, req.body.data))
  http.delete(path, REMOVE_TAGS, async (req) => service.removeWorkspaceTags(req.ctx, req.params.id, req.body.data))
}

const LIST_OF_ORGANIZATION = {
  summary: 'List the tags of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(contract.tagSchema) },
  query: {
    q: text().describe('part of the name'),
    'filter[exclude][taggable][id]': text().describe('the id of a workspace: leaves out the tags it has'),
  },
} as const
const LIST_VALUES = {
  summary: 'List the keys and values of the tags of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(contract.tagValueSchema) },
  query: { q: text().describe('part of the key or the value') },
} as const
const DELETE_TAGS = {
  ...NO_CONTENT,
  summary: 'Delete tags from every workspace of an organization',
  access: { organization: 'tags:manage' },
  audit: 'organization remove_tags',
  body: identifiersBody('tags'),
} as const
const DELETE_VALUES = {
  ...DELETE_TAGS,
  summary: 'Delete tags with certain values',
  body: identifiersBody('tag-values'),
}
const ADD_TO_WORKSPACES = {
  ...ADD,
  ...NO_CONTENT,
  summary: 'Add a tag to workspaces',
  body: identifiersBody('workspaces'),
}

export const tagRoutes: Routes = (http) => {
  const path = '/organizations/:organization/tags'
  http.get(path, LIST_OF_ORGANIZATION, async (req) => {
    const { q, 'filter[exclude][taggable][id]': exclude } = req.query
    const page = req.page()
    const { organization, ...tags } = await service.listTags(req.ctx, req.params.organization, { page, q, exclude })
    return req.list(tags, (tag) => tagResource(tag, organization))
  })
  http.get('/organizations/:organization/tag-values', LIST_VALUES, async (req) => {
    const query = { page: req.page(), q: req.query.q }
    return req.list(await service.listTagValues(req.ctx, req.params.organization, query), tagValueResource)
  })
  http.delete('/organizations/:organization/tag-values', DELETE_VALUES, async (req) =>
    service.deleteTagValues(req.ctx, req.params.organization, req.body.data),
  )
  http.delete(path, DELETE_TAGS, async (req) => service.deleteTags(req.ctx, req.params.organization, req.body.data))
  http.post('/tags/:id/relationships/workspaces', ADD_TO_WORKSPACES, async (req) =>
    service.addWorkspacesToTag(req.ctx, req.params.id, req.body.data),
  )
}

function tagResource(tag: Tag, organizationName: string): contract.TagResource {
  return {
    id: tag.tag_id,
    type: 'tags',
    attributes: { name: tag.key, 'created-at': tag.created_at, 'instance-count': tag.instance_count },
    relationships: { organization: { data: { id: organizationName, type: 'organizations' } } },
  }
}

function tagValueResource({ tag_id: tagId, key, value, ...counts }: TagValue): contract.TagValueResource {
  return {
    id: `${tagId}=${value}`,
    type: 'tag-values',
    attributes: { key, value, 'workspace-count': counts.workspace_count, 'project-count': counts.project_count },
    relationships: { tag: { data: value === '' ? { id: tagId, type: 'tags' } : null } },
  }
}

export const workspaceTagLoaders: readonly Loader[] = [
  {
    of: 'workspaces',
    relation: 'effective-tag-bindings',
    load: async (ctx, workspaces) => {
      const ids = workspaces.map(({ id }) => id)
      const bindings = await service.listEffectiveTagBindings(ctx, ids)
      return new Map(ids.map((id) => [id, (bindings.get(id) ?? []).map(effectiveTagBindingResource)]))
    },
  },
]
