import { documentOf, pageOf } from '@groundstate/contract/answers'
import { stateVersionIncludes } from '@groundstate/contract/includes'
import {
  createStateVersionBody,
  listedStatus,
  rollbackStateVersionBody,
  stateVersionSchema,
} from '@groundstate/contract/state-versions'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { created, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean } from '../../../http/query.ts'
import {
  requireCurrentStateVersion,
  requireRollbackWorkspace,
  requireStateVersion,
  requireStateWorkspace,
} from './access.ts'
import { createStateVersion } from './create.ts'
import { presentStateVersion, stateVersionResources } from './includes.ts'
import { listStateVersions } from './list.ts'
import { CONTENT_FIELDS } from './new-state.ts'
import { displayContextOf, displayOptions } from './resource.ts'
import { rollbackStateVersion } from './roll-back.ts'
import { SNAPSHOT_INTERVAL } from './snapshot-interval.ts'

/** The largest body with the content in it. It is put together on the event loop and in memory. Larger content is uploaded. */
const MAX_INLINE_BYTES = 128 * 1024 * 1024

const create = {
  summary: 'Create a state version',
  answers: { 201: documentOf(stateVersionSchema) },
  authorise: async (ctx: Ctx, { workspaceId }: { workspaceId: string }) =>
    requireStateWorkspace(ctx, workspaceId, 'state-versions:write'),
  body: createStateVersionBody,
  maxBytes: MAX_INLINE_BYTES,
  base64Fields: CONTENT_FIELDS,
}

const rollBack = {
  summary: 'Roll back to an earlier state version',
  answers: { 201: documentOf(stateVersionSchema) },
  authorise: async (ctx: Ctx, { workspaceId }: { workspaceId: string }) => requireRollbackWorkspace(ctx, workspaceId),
  body: rollbackStateVersionBody,
}

const WITHOUT_RESOURCES = 'without-resources'
const withoutResources = {
  [WITHOUT_RESOURCES]: z
    .stringbool()
    .describe('our own: whether `resources` is empty; large states have megabytes of it'),
}

const list = {
  summary: 'List the state versions of a workspace',
  answers: { 200: pageOf(stateVersionSchema) },
  include: stateVersionIncludes,
  query: {
    'filter[organization][name]': z.string().describe('required'),
    'filter[workspace][name]': z.string().describe('required'),
    'filter[status]': listedStatus,
    ...withoutResources,
  },
}

const showCurrent = {
  summary: 'Show the current state version of a workspace',
  answers: { 200: documentOf(stateVersionSchema) },
  include: stateVersionIncludes,
}

const show = { ...showCurrent, summary: 'Show a state version', query: withoutResources }

export const stateVersionRoutes: Routes = (http) => {
  http.post('/workspaces/:workspaceId/state-versions', create, async (req) => {
    const version = await createStateVersion(req.ctx, req.subject, { ...req.body.data, contents: req.contents })
    const resource = await presentStateVersion(req.ctx, { ...version, ...displayContextOf(req.subject) })
    return { ...created(resource), headers: SNAPSHOT_INTERVAL }
  })

  http.patch('/workspaces/:workspaceId/state-versions', rollBack, async (req) => {
    const version = await rollbackStateVersion(req.ctx, req.subject, req.body.data)
    const resource = await presentStateVersion(req.ctx, { ...version, ...displayContextOf(req.subject) })
    return { ...created(resource), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/state-versions', list, async (req) => {
    const page = req.page()
    const filter = {
      organization: req.query['filter[organization][name]'],
      workspace: req.query['filter[workspace][name]'],
      status: req.query['filter[status]'],
    }
    const { rows, total, display } = await listStateVersions(req.ctx, filter, page)
    const options = { ...displayOptions(display), withoutResources: isWithoutResources(req.query) }
    const resources = await stateVersionResources(req.ctx, rows, () => options)
    return { ...listPage({ url: req.url, page }, { rows: resources, total }), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/workspaces/:workspaceId/current-state-version', showCurrent, async (req) => {
    const version = await requireCurrentStateVersion(req.ctx, req.params.workspaceId)
    return { ...ok(await presentStateVersion(req.ctx, version)), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/state-versions/:id', show, async (req) => {
    const version = await requireStateVersion(req.ctx, req.params.id)
    const extra = { withoutResources: isWithoutResources(req.query) }
    return { ...ok(await presentStateVersion(req.ctx, version, extra)), headers: SNAPSHOT_INTERVAL }
  })
}

function isWithoutResources(query: Record<string, unknown>) {
  return readBoolean(query, WITHOUT_RESOURCES) ?? false
}
