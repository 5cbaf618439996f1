import { identifiersBody } from '@groundstate/contract/json-api'
import {
  createReservedTagKeyBody,
  tagBindingsBody,
  tagsBody,
  updateReservedTagKeyBody,
} from '@groundstate/contract/tags'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import {
  addWorkspacesToTag,
  addWorkspaceTags,
  deleteTags,
  listTags,
  listWorkspaceTags,
  removeWorkspaceTags,
} from '../../workspaces/workspace-tags/flat.ts'
import { createReservedTagKey, deleteReservedTagKey, listReservedTagKeys, updateReservedTagKey } from './reserved.ts'
import { effectiveTagBindingResource, reservedTagKeyResource, tagBindingResource, tagResource } from './resource.ts'
import {
  changeProjectTagBindings,
  changeWorkspaceTagBindings,
  listProjectEffectiveTagBindings,
  listProjectTagBindings,
  listWorkspaceEffectiveTagBindings,
  listWorkspaceTagBindings,
} from './service.ts'

const BINDINGS = { body: tagBindingsBody }

/** Keys with values, on workspaces and projects. Clients write the paths with and without `relationships`. */
export const tagBindingRoutes: Routes = (http) => {
  for (const path of ['/workspaces/:id/tag-bindings', '/workspaces/:id/relationships/tag-bindings'] as const) {
    http.get(path, async (req) => {
      return listAll((await listWorkspaceTagBindings(req.ctx, req.params.id)).map(tagBindingResource))
    })
    http.post(path, BINDINGS, async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
      return noContent()
    })
  }
  for (const path of ['/projects/:id/tag-bindings', '/projects/:id/relationships/tag-bindings'] as const) {
    http.get(path, async (req) => {
      return listAll((await listProjectTagBindings(req.ctx, req.params.id)).map(tagBindingResource))
    })
    http.post(path, BINDINGS, async (req) => {
      const bindings = req.body.data.map((tag) => tag.attributes)
      await changeProjectTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
      return noContent()
    })
  }
  // The short path merges and answers with the list; the relation's path replaces, as a relation does.
  http.patch('/workspaces/:id/tag-bindings', BINDINGS, async (req) => {
    const bindings = req.body.data.map((tag) => tag.attributes)
    const rows = await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
    return listAll(rows.map(tagBindingResource))
  })
  http.patch('/projects/:id/tag-bindings', BINDINGS, async (req) => {
    const bindings = req.body.data.map((tag) => tag.attributes)
    const rows = await changeProjectTagBindings(req.ctx, req.params.id, { change: 'merge', bindings })
    return listAll(rows.map(tagBindingResource))
  })
  http.patch('/workspaces/:id/relationships/tag-bindings', BINDINGS, async (req) => {
    const bindings = req.body.data.map((tag) => tag.attributes)
    await changeWorkspaceTagBindings(req.ctx, req.params.id, { change: 'replace', bindings })
    return noContent()
  })
  http.patch('/projects/:id/relationships/tag-bindings', BINDINGS, async (req) => {
    const bindings = req.body.data.map((tag) => tag.attributes)
    await changeProjectTagBindings(req.ctx, req.params.id, { change: 'replace', bindings })
    return noContent()
  })
  http.get('/workspaces/:id/effective-tag-bindings', async (req) => {
    return listAll((await listWorkspaceEffectiveTagBindings(req.ctx, req.params.id)).map(effectiveTagBindingResource))
  })
  http.get('/projects/:id/effective-tag-bindings', async (req) => {
    return listAll((await listProjectEffectiveTagBindings(req.ctx, req.params.id)).map(effectiveTagBindingResource))
  })
}

/** The older interface: tags that are names. */
export const tagRoutes: Routes = (http) => {
  http.get('/workspaces/:id/relationships/tags', async (req) => {
    const page = req.page()
    const name = readText(req.query, 'name')
    const { rows, total, organization } = await listWorkspaceTags(req.ctx, req.params.id, { page, name })
    return listPage({ url: req.url, page }, { rows: rows.map((tag) => tagResource(tag, organization)), total })
  })
  http.post('/workspaces/:id/relationships/tags', { body: tagsBody }, async (req) => {
    await addWorkspaceTags(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.delete('/workspaces/:id/relationships/tags', { body: tagsBody }, async (req) => {
    await removeWorkspaceTags(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.get('/organizations/:organization/tags', async (req) => {
    const page = req.page()
    const q = readText(req.query, 'q')
    const exclude = readText(req.query, 'filter[exclude][taggable][id]')
    const { rows, total, organization } = await listTags(req.ctx, req.params.organization, { page, q, exclude })
    return listPage({ url: req.url, page }, { rows: rows.map((tag) => tagResource(tag, organization)), total })
  })
  http.delete('/organizations/:organization/tags', { body: identifiersBody('tags') }, async (req) => {
    await deleteTags(req.ctx, req.params.organization, req.body.data)
    return noContent()
  })
  http.post('/tags/:id/relationships/workspaces', { body: identifiersBody('workspaces') }, async (req) => {
    await addWorkspacesToTag(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
}

export const reservedTagKeyRoutes: Routes = (http) => {
  http.get('/organizations/:organization/reserved-tag-keys', async (req) => {
    const page = req.page()
    const { rows, total } = await listReservedTagKeys(req.ctx, req.params.organization, page)
    return listPage({ url: req.url, page }, { rows: rows.map(reservedTagKeyResource), total })
  })
  http.post('/organizations/:organization/reserved-tag-keys', { body: createReservedTagKeyBody }, async (req) => {
    const key = await createReservedTagKey(req.ctx, req.params.organization, req.body.data.attributes)
    return created(reservedTagKeyResource(key))
  })
  http.patch('/reserved-tag-keys/:id', { body: updateReservedTagKeyBody }, async (req) => {
    return ok(reservedTagKeyResource(await updateReservedTagKey(req.ctx, req.params.id, req.body.data.attributes)))
  })
  http.delete('/reserved-tag-keys/:id', async (req) => {
    await deleteReservedTagKey(req.ctx, req.params.id)
    return noContent()
  })
}
