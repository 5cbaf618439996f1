import { documentOf } from '@groundstate/contract/responses'
import { type WorkspaceReadmeResource, workspaceReadmeSchema } from '@groundstate/contract/workspace-resources'
import type { Ctx } from '../../../app.ts'
import { findReadme } from '../../../archives/readme.ts'
import type { Routes } from '../../../http/http.ts'
import { noContent, ok } from '../../../http/responses.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import type { ReadmeRow } from './readme-store.ts'
import * as store from './readme-store.ts'
import { openArchive } from './service.ts'
import { findConfigurationVersionRow } from './store.ts'

export const workspaceReadmeRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:id/readme',
    {
      summary: 'Show the README of the current configuration of a workspace',
      access: { workspace: 'runs:read' },
      responses: { 200: documentOf(workspaceReadmeSchema), 204: null },
    },
    async (req) => {
      const readme = await readWorkspaceReadme(req.ctx, req.params.id)
      // Most have none, which is no error: pages ask for every workspace.
      return readme ? ok(workspaceReadmeResource(readme)) : noContent()
    },
  )
}

/**
 * The README of the current configuration. The first request for a configuration reads its archive, the others what that one has
 * kept. Undefined when there is none.
 */
async function readWorkspaceReadme(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  const { current_configuration_version_id: id, working_directory: workingDirectory } = workspace
  const version = id === null ? undefined : await findConfigurationVersionRow(ctx.db, id)
  if (version?.status !== 'uploaded') return undefined
  const key = { versionId: version.id, workingDirectory }
  const row = (await store.findReadme(ctx.db, key)) ?? (await lookInTurn(ctx, version, key))
  if (row.path === null) return undefined
  return { workspaceId: workspace.id, versionId: version.id, row }
}

type Version = NonNullable<Awaited<ReturnType<typeof findConfigurationVersionRow>>>
type Key = Parameters<typeof store.findReadme>[1]

/** Archives being read: concurrent requests share one read. */
const looking = new Map<string, Promise<store.ReadmeRow>>()

async function lookInTurn(ctx: Ctx, version: Version, key: Key): Promise<store.ReadmeRow> {
  const name = `${version.blob_key}/${key.workingDirectory}`
  const found = looking.get(name) ?? look(ctx, version, key).finally(() => looking.delete(name))
  looking.set(name, found)
  return found
}

async function look(ctx: Ctx, version: Version, key: Key): Promise<store.ReadmeRow> {
  const { content } = await openArchive(ctx, version)
  const readme = await findReadme(content, key.workingDirectory)
  const row = { path: readme?.path ?? null, markdown: readme?.markdown ?? null, is_cut: readme?.isCut ?? false }
  await store.insertReadme(ctx.db, key, row)
  return row
}

type Found = { workspaceId: string; versionId: string; row: ReadmeRow }

function workspaceReadmeResource({ workspaceId, versionId, row }: Found): WorkspaceReadmeResource {
  return {
    id: workspaceId,
    type: 'workspace-readmes',
    attributes: { path: row.path ?? '', 'raw-markdown': row.markdown ?? '', 'is-cut': row.is_cut },
    relationships: {
      workspace: { data: { id: workspaceId, type: 'workspaces' } },
      'configuration-version': { data: { id: versionId, type: 'configuration-versions' } },
    },
    links: { self: `/api/v2/workspaces/${workspaceId}/readme` },
  }
}
