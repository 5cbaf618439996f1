import type { Ctx } from '../../../app.ts'
import { dependsOnGrants, listedFacts, seesEveryWorkspace } from '../../../auth/facts.ts'
import { type Facts, type WorkspacePermission, workspacePermissions } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { invalidParameter, notFound } from '../../../errors.ts'
import { readText } from '../../../http/query.ts'
import { requireOrganization } from '../../organizations/organizations/service.ts'
import { requireWorkspace, type Workspace } from '../../workspaces/workspaces/service.ts'
import { readRunFilter } from './filters.ts'
import * as store from './store.ts'
import { openTasks, waitingReason } from '../../workspaces/workspaces/waiting.ts'
import type { Page } from '../../../db/page.ts'

/** A run that the actor may see, with what it may do in its workspace. */
export type Run = Omit<store.FoundRun, 'facts'> & { can: ReadonlySet<WorkspacePermission>; facts: Facts }

/**
 * Loads the run and checks `permission` on its workspace in one query. Throws `not-found` when the actor may not see it,
 * `forbidden` when it sees it but lacks the permission. `forTask` lets in the token of a task result of this very run.
 * `noun` is what the request was about, where that is a part of the run: it does not exist, rather than its run.
 */
export async function requireRun(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission,
  { forTask = false, noun = 'run' }: { forTask?: boolean; noun?: string } = {},
): Promise<Run> {
  const row = await store.findRun(ctx.db, ctx.actor, { id, now: ctx.now() })
  const run = row && readable(ctx, row)
  if (!run) throw notFound(noun)
  if (forTask && ctx.actor.kind === 'task' && ctx.actor.runId === run.id) return run
  checkAccess(run, { noun, permission, workspaceName: run.workspace_name })
  return run
}

function readable(ctx: Ctx, row: store.FoundRun): Run {
  return { ...row, ...readAccess(ctx.actor, row) }
}

function present(run: Omit<store.FoundRun, 'facts'>, facts: Facts): Run {
  return { ...run, facts, can: workspacePermissions(facts) }
}

/** Those of the runs that the actor may read, for the includes of other resources. */
export async function listReadableRuns(ctx: Ctx, ids: readonly string[]): Promise<Run[]> {
  if (ids.length === 0) return []
  const rows = await store.findRuns(ctx.db, ctx.actor, { ids, now: ctx.now() })
  return rows.map((row) => readable(ctx, row)).filter(canReadRuns)
}

/**
 * Why workspaces (by id) wait: what holds back the run that is at work there, else the first in line. Workspaces in which
 * nothing waits, or only for an agent about to take it, are left out.
 */
export async function listWaitingReasons(ctx: Ctx, workspaceIds: readonly string[]): Promise<Map<string, string>> {
  const reasons = new Map<string, string>()
  if (workspaceIds.length === 0) return reasons
  const now = ctx.now()
  for (const run of await store.listWaiting(ctx.db, { workspaceIds, now })) {
    const reason = waitingReason(run.waiting, { tasks: openTasks(run.task_stages), now })
    if (reason !== null && !reasons.has(run.workspace_id)) reasons.set(run.workspace_id, `${run.id} waits: ${reason}`)
  }
  return reasons
}

type ListInput = { page: Page; query: Record<string, unknown> }

export async function listWorkspaceRuns(ctx: Ctx, workspaceId: string, { page, query }: ListInput) {
  return listRunsOf(ctx, await requireWorkspace(ctx, workspaceId, 'runs:read'), { page, query })
}

async function listRunsOf(ctx: Ctx, workspace: Workspace, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = readRunFilter(query, now)
  const list = await store.listWorkspaceRuns(ctx.db, { workspaceId: workspace.id, page, filter, now })
  return { rows: list.rows.map((row) => present(row, workspace.facts)), total: list.total }
}

/** As `listWorkspaceRuns`, of the workspace that parameters name along with its organization. Throws `invalid` without both. */
export async function listNamedWorkspaceRuns(ctx: Ctx, { page, query }: ListInput) {
  const [workspaceId, organization] = [requireText(query, 'workspace_id'), requireText(query, 'organization_name')]
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  if (workspace.organization_name.toLowerCase() !== organization.toLowerCase()) throw notFound('workspace')
  return listRunsOf(ctx, workspace, { page, query })
}

function requireText(query: Record<string, unknown>, parameter: string) {
  const text = readText(query, parameter)
  if (text === undefined) throw invalidParameter(`${parameter} is missing`, parameter)
  return text
}

/** Runs of the workspaces that the actor may see; `isLast` when there is no further page. */
export async function listOrganizationRuns(ctx: Ctx, organizationName: string, { page, query }: ListInput) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const now = ctx.now()
  const filter = readRunFilter(query, now)
  const rows = await store.listOrganizationRuns(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.facts),
    grants: dependsOnGrants(organization.facts),
    page,
    filter,
    now,
  })
  return {
    rows: rows.slice(0, page.size).map(({ grants, ...row }) => present(row, listedFacts(organization.facts, grants))),
    isLast: rows.length <= page.size,
  }
}

export async function listQueue(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const list = await store.listQueue(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.facts),
    grants: dependsOnGrants(organization.facts),
    page,
    now: ctx.now(),
  })
  return {
    rows: list.rows.map(({ position, grants, ...row }) => ({
      position,
      run: present(row, listedFacts(organization.facts, grants)),
    })),
    total: list.total,
  }
}

/** How many runs of the organization are at work, and how many wait. */
export async function readCapacity(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  return { name: organization.name, ...(await store.countQueue(ctx.db, organization.id)) }
}

/** The run that was made last of a configuration version. */
export async function findRunOfConfiguration(ctx: Ctx, configurationVersionId: string): Promise<Run | undefined> {
  const row = await store.findRunOfConfiguration(ctx.db, ctx.actor, { configurationVersionId, now: ctx.now() })
  return row && readable(ctx, row)
}
