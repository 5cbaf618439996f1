import type { Ctx } from '../../../app.ts'
import { type AccessContext, dependsOnGrants, listedAccess, seesEveryWorkspace } from '../../../auth/access-context.ts'
import type { Actor } from '../../../auth/actor.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { type Db, type Page, type Paged, pageOffset } from '../../../db/db.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import { type Workspace, readGrants } from './access.ts'
import type { WorkspaceFilter } from './filter-store.ts'
import * as store from './list-store.ts'
import * as waitingStore from './waiting-store.ts'
import { openTasks, waitingReason } from './waiting.ts'

/** One page of the workspaces that the actor may see. The cost does not depend on the size of the organization, unless filtered by name. */
export async function listWorkspaces(
  ctx: Ctx,
  organizationName: string,
  { page, sort, filter }: { page: Page; sort: store.Sort; filter: WorkspaceFilter },
): Promise<Paged<Workspace>> {
  const { actor } = ctx
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const window = { sort, limit: page.size, offset: pageOffset(page) }
  const query = { organizationId: organization.id, filter, access: organization.access }
  const { rows, total } =
    actor.kind === 'user' && !seesEveryWorkspace(organization.access)
      ? await listGranted(ctx, { ...query, grants: await readGrants(ctx, actor, organization) }, window)
      : await listEvery(ctx, query, window)
  const present = (row: (typeof rows)[number]): Workspace => {
    const access = listedAccess(organization.access, row.grants)
    const url = row.repository && webhookUrl(ctx, row.repository)
    const additions = { access, can: workspacePermissions(access), webhook_url: url }
    // Copying rows with so many columns takes a tenth of the time of a request.
    return Object.assign(row, additions)
  }
  return { rows: rows.map(present), total }
}

type Query = { organizationId: string; filter: WorkspaceFilter; access: AccessContext }
type Window = { sort: store.Sort; limit: number; offset: number }

async function listEvery({ db, actor }: Ctx, { access, ...rest }: Query, window: Window) {
  const query = { ...rest, reach: undefined }
  const grants = dependsOnGrants(access)
  const counts = isFiltered(query.filter) || actor.kind === 'run'
  const [rows, count] = await Promise.all([
    store.listWorkspaceRows(db, actor, query, { ...window, counts, grants }),
    counts ? undefined : store.countAll(db, query.organizationId),
  ])
  return { rows, total: count ?? (await totalOf(db, actor, query, rows)) }
}

/** Number of workspaces up to which single lookups are no slower than a full scan. */
const MAX_COLLECTED = 1000

/** A scan reads many rows when few are visible; a collection reads every visible row, as a count does anyway. */
function strategyFor(
  { sort, limit, offset }: Window,
  { direct, inProjects, all }: store.Grants,
  counts: boolean,
): store.Reach['strategy'] {
  const visible = inProjects + direct
  const walked = ((offset + limit) * all) / Math.max(1, visible)
  if (!counts && store.hasIndex(sort) && walked < Math.min(visible, MAX_COLLECTED)) return 'scan'
  return visible > MAX_COLLECTED ? 'match' : 'collect'
}

async function listGranted({ db, actor }: Ctx, { grants, ...rest }: Query & { grants: store.Grants }, window: Window) {
  const { projectIds, direct } = grants
  const counts = isFiltered(rest.filter)
  const strategy = strategyFor(window, grants, counts)
  const query = { ...rest, reach: { ...grants, strategy } }
  const [rows, count] = await Promise.all([
    store.listWorkspaceRows(db, actor, query, { ...window, counts, grants: true }),
    counts ? undefined : store.countInProjects(db, projectIds),
  ])
  return { rows, total: count === undefined ? await totalOf(db, actor, query, rows) : count + direct }
}

/** Each row of a counted page has the total. A page past the end has no row, so it needs a count. */
async function totalOf(db: Db, actor: Actor, query: store.ListQuery, rows: readonly { total: number | null }[]) {
  return rows[0]?.total ?? store.countMatches(db, actor, query)
}

function isFiltered(filter: WorkspaceFilter) {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The waiting reasons of workspaces, by id: that of the active run, else that of the first run in the queue. */
export async function listWaitingReasons(ctx: Ctx, workspaces: readonly Workspace[]) {
  const reasons = new Map<string, string>()
  if (workspaces.length === 0) return reasons
  const workspaceIds = workspaces.map(({ id }) => id)
  const now = ctx.now()
  for (const run of await waitingStore.listWaiting(ctx.db, { workspaceIds, now })) {
    const reason = waitingReason(run.waiting, { tasks: openTasks(run.task_stages), now })
    if (reason !== null && !reasons.has(run.workspace_id)) reasons.set(run.workspace_id, `${run.id} waits: ${reason}`)
  }
  return reasons
}
