import type { Ctx } from '../../../app.ts'
import { listedAccess } from '../../../auth/access-context.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { notFound } from '../../../errors.ts'
import type { Organization } from '../../organizations/organizations/access.ts'
import { listReadableRuns } from '../runs/access.ts'
import * as store from './result-store.ts'

/** The runs of a trial, newest first or as requested, and the numbers of those that are left out. */
export type Selection = { runIds: readonly string[]; unreadable: number; planless: number; older: number }

const DAY_MS = 86_400_000
const DAYS = 30
/** Maximum number of runs of a trial of the last days. */
const MAX_RUNS = 200

/** The runs that a request names. Throws `not-found` for one of another organization, or whose plan the actor may not read. */
export async function selectNamedRuns(ctx: Ctx, { id }: Organization, named: readonly string[]): Promise<Selection> {
  const runIds = [...new Set(named)]
  const runs = await listReadableRuns(ctx, runIds)
  const readable = new Set(
    runs.flatMap((run) => (run.organization_id === id && run.can.has('plan-json:read') ? run.id : [])),
  )
  const missing = named.findIndex((run) => !readable.has(run))
  if (missing !== -1)
    throw notFound(`plan of the run ${named[missing]}`, { pointer: `/data/relationships/runs/data/${missing}/id` })
  return { runIds, unreadable: 0, planless: 0, older: 0 }
}

/** The runs of the last 30 days in workspaces to which a set applies now, those with a plan that the actor may read. */
export async function selectRecentRuns(ctx: Ctx, organization: Organization, setId: string): Promise<Selection> {
  const since = new Date(ctx.now().getTime() - DAYS * DAY_MS)
  const applied = { setId, organizationId: organization.id, since }
  const workspaces = await store.listAppliedWorkspaces(ctx.db, ctx.actor, applied)
  const isReadable = ({ grants }: (typeof workspaces)[number]) =>
    workspacePermissions(listedAccess(organization.access, grants)).has('plan-json:read')
  const readable = workspaces.filter(isReadable)
  const sum = (rows: readonly { planned: number; planless: number }[], of: 'planned' | 'planless') =>
    rows.reduce((total, row) => total + row[of], 0)
  const workspaceIds = readable.map(({ id }) => id)
  const list = { organizationId: organization.id, workspaceIds, since, limit: MAX_RUNS }
  const runIds = workspaceIds.length === 0 ? [] : await store.listNewestRuns(ctx.db, list)
  return {
    runIds,
    unreadable: sum(workspaces, 'planned') - sum(readable, 'planned'),
    planless: sum(readable, 'planless'),
    older: Math.max(0, sum(readable, 'planned') - runIds.length),
  }
}
