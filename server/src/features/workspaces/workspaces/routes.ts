import { documentOf, pageOf } from '@groundstate/contract/answers'
import { workspaceIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { createWorkspaceBody, updateWorkspaceBody, workspaceSchema } from '@groundstate/contract/workspaces'
import { z } from 'zod'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readList, readSort, readText } from '../../../http/query.ts'
import { requireWorkspaceBy } from './access.ts'
import { createWorkspace } from './create.ts'
import { SORTS } from './list-store.ts'
import { listWorkspaces } from './list.ts'
import { moveWorkspaces } from './move.ts'
import { showWorkspace, showWorkspaces } from './show.ts'
import { readTagged } from './tag-query.ts'
import { updateWorkspace } from './update.ts'

/** A workspace is addressed by its id, or by its name in an organization. */
const PATHS = ['/workspaces/:id', '/organizations/:organization/workspaces/:name'] as const

const CREATE = {
  summary: 'Create a workspace',
  answers: { 201: documentOf(workspaceSchema) },
  body: createWorkspaceBody,
  include: workspaceIncludes,
}

const LIST = {
  summary: 'List the workspaces of an organization',
  answers: { 200: pageOf(workspaceSchema) },
  include: workspaceIncludes,
  query: {
    'search[name]': z.string().describe('part of the name'),
    'search[wildcard-name]': z.string().describe('the name, in which `*` stands for any text'),
    'search[tags]': z.string().describe('comma-separated keys of tags that a workspace must have'),
    'search[exclude-tags]': z.string().describe('comma-separated keys of tags that must not be bound to a workspace'),
    'filter[tagged][0][key]': z.string().describe('key of a tag that a workspace must have; 0 may be any index'),
    'filter[tagged][0][value]': z.string().describe('value of the tag with the same index; any value when it is empty'),
    'filter[tag-value-default-null]': z
      .stringbool()
      .describe('whether a tag without a value in the filter must have none in the workspace'),
    'filter[tag-union]': z.stringbool().describe('whether one of the tags is enough'),
    'filter[project][id]': z.string().describe('id of a project'),
    'filter[current-run][status]': z.string().describe('comma-separated statuses of the current run'),
    sort: z
      .enum(SORTS.flatMap((name) => [name, `-${name}` as const]))
      .describe('by `name` unless given; `-` reverses the order'),
  },
}

const SHOW = {
  summary: 'Show a workspace',
  answers: { 200: documentOf(workspaceSchema) },
  include: workspaceIncludes,
}

const UPDATE = {
  summary: 'Update a workspace',
  answers: { 200: documentOf(workspaceSchema) },
  body: updateWorkspaceBody,
  include: workspaceIncludes,
}

const MOVE = {
  summary: 'Move workspaces to a project',
  answers: { 204: null },
  body: identifiersBody('workspaces'),
}

export const workspaceRoutes: Routes = (http) => {
  http.post('/organizations/:organization/workspaces', CREATE, async (req) => {
    const workspace = await createWorkspace(req.ctx, req.params.organization, readInput(req))
    return created(await showWorkspace(req.ctx, workspace))
  })
  http.get('/organizations/:organization/workspaces', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listWorkspaces(req.ctx, req.params.organization, {
      page,
      sort: readSort(req.query, SORTS, 'name'),
      filter: {
        name: readText(req.query, 'search[name]'),
        wildcardName: readText(req.query, 'search[wildcard-name]'),
        projectId: readText(req.query, 'filter[project][id]'),
        tagged: readTagged(req.query),
        excludedTags: readList(req.query, 'search[exclude-tags]'),
        runStatuses: readList(req.query, 'filter[current-run][status]'),
      },
    })
    return listPage({ url: req.url, page }, { rows: await showWorkspaces(req.ctx, rows), total })
  })
  for (const path of PATHS) {
    http.get(path, SHOW, async (req) => {
      const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
      return ok(await showWorkspace(req.ctx, workspace))
    })
    http.patch(path, UPDATE, async (req) => {
      const workspace = await updateWorkspace(req.ctx, req.params, readInput(req))
      return ok(await showWorkspace(req.ctx, workspace))
    })
  }
  http.post('/projects/:id/relationships/workspaces', MOVE, async (req) => {
    await moveWorkspaces(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
}

function readInput<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}
