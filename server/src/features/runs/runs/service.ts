import type { Readable } from 'node:stream'
import type { CreateRun } from '@groundstate/contract/runs'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { announceEvent, auditRow } from '../../../audit/record.ts'
import { dependsOnGrants, listedAccess, seesEveryWorkspace } from '../../../auth/access-context.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type Page, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import type { Query } from '../../../http/query.ts'
import { type Organization, requireOrganization, requirePoolFor } from '../../organizations/organizations/access.ts'
import { type Workspace, requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { effectiveExecution } from '../../workspaces/workspaces/settings.ts'
import { requireConfigurationVersion } from '../configuration-versions/access.ts'
import { openArchive } from '../configuration-versions/service.ts'
import { requireConfigurationOfRun, runWithAccess } from './access.ts'
import { startEffects } from './advance.ts'
import { runCreationAudit } from './audit.ts'
import { type QUEUE_QUERY, type RunQuery, groupStatuses, runFilter } from './filter.ts'
import * as store from './list-store.ts'
import type { LockedWorkspace, RunRow } from './locked-run-store.ts'
import { insertNewRun, lockForNewRun } from './new-run-store.ts'
import { type RunOrigin, checkOptions, newLockedRun, newRun } from './new-run.ts'
import * as queueStore from './queue-store.ts'
import { runEventRow } from './run-event-store.ts'
import { createStages, readPlannedStages } from './stages.ts'
import { transitionOf } from './transition.ts'

type NewRunRequest = {
  input: CreateRun
  configurationVersionId?: string | undefined
  structured: boolean
  /** The client, unless a person sends the request from the web application. */
  source: RunRow['source']
} & Pick<RunOrigin, 'engineProduct'>

/**
 * Creates a run in the workspace, and takes it as far as it gets at once: into the queue of the agents when nothing holds it
 * back. Throws `invalid` for options that exclude each other, and for a configuration of which no run can be made.
 */
export async function createRun(
  ctx: Ctx,
  workspaceId: string,
  { input, source, ...origin }: NewRunRequest,
): Promise<string> {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:plan')
  if (input['auto-apply'] && !workspace.can.has('runs:apply')) {
    throw forbidden(`auto-apply needs the permission runs:apply on the workspace ${workspace.name}`)
  }
  const { actor } = ctx
  const byHand = actor.kind === 'user' && actor.tokenId === undefined
  return insertRun(ctx, workspace, {
    input,
    origin: {
      ...origin,
      source: byHand ? 'tfe-ui' : source,
      createdByUserId: actor.kind === 'user' ? actor.userId : null,
    },
  })
}

/**
 * Creates a run for a caller that has been authorised. The workspace's own auto-apply counts only for an actor that may
 * apply. Returns the run's id.
 */
export async function insertRun(
  ctx: Ctx,
  workspace: Workspace,
  { input, origin }: { input: CreateRun; origin: RunOrigin },
): Promise<string> {
  checkOptions(input)
  return transact(ctx, async (ctx) => {
    const stages = await readPlannedStages(ctx, workspace)
    const found = await lockForNewRun(ctx.db, workspace.id, origin.configurationVersionId)
    const { workspace: locked } = found
    if (!locked) throw conflict(`the workspace ${workspace.name} has just been deleted`)
    const wanted = origin.configurationVersionId ?? locked.current_configuration_version_id
    const version = requireConfiguration(wanted, found.version)
    await checkPool(ctx, workspace)
    const run = {
      ...newRun(ctx, workspace, { input, origin, version, number: locked.run_count + 1 }),
      stages: await stages(),
    }
    return insert(ctx, locked, run)
  })
}

/** Default pools and the scopes of pools change, so every run checks again whether its workspace may use the pool. */
async function checkPool(ctx: Ctx, workspace: Workspace) {
  const { agentPoolId: poolId } = effectiveExecution(workspace)
  if (poolId === null) return
  const { organization_id: organizationId, id: workspaceId, project_id: projectId } = workspace
  await requirePoolFor(ctx, { organizationId, workspaceId, projectId }, { poolId })
}

/** Inserts the run with its phases and stages, and takes it as far as it gets. */
async function insert(ctx: TransactionCtx, workspace: LockedWorkspace, run: RunRow) {
  const locked = newLockedRun(ctx, workspace, run)
  const stages = Object.fromEntries(run.stages.map((stage) => [stage, 'pending']))
  const transition = transitionOf(ctx, locked, {}, stages)
  const event = runEventRow(ctx, run.id, { action: 'created', actorUserId: run.created_by_user_id })
  const audit = runCreationAudit(run)
  await insertNewRun(ctx.db, locked, { transition, event, audit: auditRow(ctx, audit) })
  announceEvent(ctx, audit)
  if (transition.jobTopic !== undefined) ctx.signals.publishToOne(ctx.db, transition.jobTopic)
  if (run.stages.length > 0) await createStages(ctx, run, run.stages as Parameters<typeof createStages>[2])
  await startEffects(ctx, { locked, transition })
  return run.id
}

const RELATION = '/data/relationships/configuration-version'

type VersionForRun = NonNullable<Awaited<ReturnType<typeof lockForNewRun>>['version']>

/** The configuration version that the request names, or else the current one of the workspace, if a run can be made of it. */
function requireConfiguration(wanted: string | null, version: VersionForRun | undefined): VersionForRun {
  if (wanted === null)
    throw invalid(
      'configuration version is missing: the workspace has no configuration yet, upload one first',
      RELATION,
    )
  if (!version) throw invalid(`the workspace has no configuration version ${wanted}`, RELATION)
  if (version.status === 'pending' || version.status === 'fetching')
    throw invalid(`the configuration version ${wanted} has not been uploaded yet`, RELATION)
  if (version.status !== 'uploaded')
    throw invalid(`the configuration version ${wanted} is ${version.status}, it must be uploaded`, RELATION)
  return version
}

/**
 * Creates the run of a configuration version that the actor has uploaded to a workspace where it may plan; none where runs are
 * executed locally. The run does not apply by itself for an actor that may not apply.
 */
export async function insertUploadedRun(ctx: Ctx, workspace: Workspace, versionId: string) {
  if (effectiveExecution(workspace).mode === 'local') return undefined
  return insertRun(ctx, workspace, {
    input: {},
    origin: {
      configurationVersionId: versionId,
      source: 'tfe-configuration-version',
      createdByUserId: actorUserId(ctx.actor),
    },
  })
}

type ListInput = { page: Page; query: RunQuery }

/** A page of the runs of a workspace, the newest first. */
export async function listWorkspaceRuns(ctx: Ctx, workspace: Workspace, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = runFilter(query, now)
  const { id: workspaceId, organization_id: organizationId } = workspace
  const list = await store.listWorkspaceRuns(ctx.db, { organizationId, workspaceId, page, filter, now })
  return { rows: list.rows.map((row) => runWithAccess(row, workspace.access)), total: list.total }
}

/** As `listWorkspaceRuns`, for a workspace whose organization has this name. */
export async function listNamedWorkspaceRuns(
  ctx: Ctx,
  { workspaceId, organization }: { workspaceId: string; organization: string },
  input: ListInput,
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  if (workspace.organization_name.toLowerCase() !== organization.toLowerCase()) throw notFound('workspace')
  return listWorkspaceRuns(ctx, workspace, input)
}

/** Runs of the workspaces that the actor may see; `isLast` when there is no further page. */
export async function listOrganizationRuns(ctx: Ctx, organization: Organization, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = runFilter(query, now)
  const rows = await store.listOrganizationRuns(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.access),
    grants: dependsOnGrants(organization.access),
    page,
    filter,
    now,
  })
  return {
    rows: rows
      .slice(0, page.size)
      .map(({ grants, ...row }) => runWithAccess(row, listedAccess(organization.access, grants))),
    isLast: rows.length <= page.size,
  }
}

/** A page of the unfinished runs of an organization, or of those in some groups of statuses, in the order of their creation. */
export async function listQueue(
  ctx: Ctx,
  organization: Organization,
  { page, query }: { page: Page; query: Query<typeof QUEUE_QUERY> },
) {
  const list = await queueStore.listQueue(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.access),
    grants: dependsOnGrants(organization.access),
    page,
    statuses: groupStatuses(query['filter[status_group]']),
    now: ctx.now(),
  })
  return {
    rows: list.rows.map(({ position, grants, ...row }) => ({
      position,
      run: runWithAccess(row, listedAccess(organization.access, grants)),
    })),
    total: list.total,
  }
}

/** How many runs of the organization agents work on, how many wait, and the limit of those at work. */
export async function readCapacity(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  return { name: organization.name, ...(await queueStore.countQueue(ctx.db, organization.id)) }
}

/** The archive of a version, for actors who may read its runs, and for the tasks of a run that uses the version. */
export async function openConfiguration(ctx: Ctx, id: string): Promise<{ content: Readable; size: number | null }> {
  if (ctx.actor.kind === 'task') {
    const version = await requireConfigurationOfRun(ctx, ctx.actor.runId)
    if (version.id !== id) throw notFound('configuration version')
    return openArchive(ctx, version)
  }
  return openArchive(ctx, await requireConfigurationVersion(ctx, id, 'runs:read'))
}
