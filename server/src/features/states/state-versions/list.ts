import { listedStatus } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { invalidParameter, notFound } from '../../../errors.ts'
import { requireWorkspaceByName } from '../../workspaces/workspaces/access.ts'
import { type DisplayContext, displayContextOf } from './resource.ts'
import * as store from './store.ts'

/** The versions of one workspace, the newest first. */
export async function listStateVersions(
  ctx: Ctx,
  filter: { organization: unknown; workspace: unknown; status: unknown },
  page: Page,
): Promise<Paged<store.PresentedRow> & { display: DisplayContext }> {
  const organization = requiredFilter('filter[organization][name]', filter.organization)
  const name = requiredFilter('filter[workspace][name]', filter.workspace)
  const status = readStatus(filter.status)
  const workspace = await requireWorkspaceByName(ctx, organization, name, 'workspace:read')
  if (!workspace.can.has('state-versions:read')) throw notFound('workspace')
  const [rows, total] = await Promise.all([
    store.listStateVersions(ctx.db, workspace.id, { page, status }),
    status === undefined ? workspace.state_version_count : store.countStateVersions(ctx.db, workspace.id, status),
  ])
  return { rows, total, display: displayContextOf(workspace) }
}

function requiredFilter(name: string, value: unknown) {
  if (typeof value === 'string' && value !== '') return value
  const given = Array.isArray(value) ? `is given ${value.length} times` : 'is missing'
  throw invalidParameter(`${name} ${given}: it must name one`, name)
}

function readStatus(value: unknown) {
  if (value === undefined || value === '') return undefined
  const { data: status } = listedStatus.safeParse(value)
  if (status) return status
  throw invalidParameter(
    `filter[status] is ${JSON.stringify(value)}, it must be one of ${listedStatus.options.join(', ')}`,
    'filter[status]',
  )
}
