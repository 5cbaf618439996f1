import type { Ctx } from '../../../app.ts'
import { findReadme } from '../../../archives/readme.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { openArchive } from '../configuration-versions/download.ts'
import { findConfigurationVersionRow } from '../configuration-versions/store.ts'
import * as store from './store.ts'

/**
 * The README of the current configuration. The first request for a configuration reads its archive, the others what that one has
 * kept. Undefined when there is none.
 */
export async function readWorkspaceReadme(ctx: Ctx, workspaceId: string) {
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

/** Of several requests for one archive, one reads it. */
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
