import { SERVICE_PROVIDERS } from '@groundstate/contract/oauth-clients'
import type { CreateRun } from '@groundstate/contract/runs'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { announceEvent, auditRow } from '../../../audit/record.ts'
import { dependsOnGrants, listedAccess, seesEveryWorkspace } from '../../../auth/access-context.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type Page, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import type { Query } from '../../../http/query.ts'
import { type Organization, requirePoolFor } from '../../organizations/organizations/access.ts'
import type { WorkspaceRepository } from '../../vcs/repositories/store.ts'
import { type Workspace, requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { effectiveExecution } from '../../workspaces/workspaces/settings.ts'
import { configurationWanted, requireConfigurationVersion } from '../configuration-versions/access.ts'
import { insertConfigurationVersion, openArchive } from '../configuration-versions/service.ts'
import { requireConfigurationOfRun, runWithAccess } from './access.ts'
import { startEffects } from './advance.ts'
import { runCreated, runCreationAudit } from './audit.ts'
import { type QUEUE_QUERY, type RunQuery, groupStatuses, runFilter } from './filter.ts'
import type { LockedWorkspace, RunRow } from './locked-run-store.ts'
import { measureNewRun, measureTransition } from './measure.ts'
import { type RunOrigin, checkOptions, newLockedRun, newRun } from './new-run.ts'
import { runEventRow } from './run-event-store.ts'
import { type PlannedStages, createStages, readPlannedStages } from './stages.ts'
import * as store from './store.ts'
import { insertNewRun, lockForNewRun } from './transition-store.ts'
import { transitionOf } from './transition.ts'

type NewRunRequest = { input: CreateRun } & Omit<RunOrigin, 'createdByUserId'>

/** `source` is the client, unless the web UI sends the request. Throws `invalid` for contradictory options and an unusable configuration. */
export async function createRun(ctx: Ctx, workspaceId: string, { input, source, ...origin }: NewRunRequest) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:plan')
  if (input['auto-apply'] && !workspace.can.has('runs:apply'))
    throw forbidden(`auto-apply needs the permission runs:apply on the workspace ${workspace.name}`)
  const { actor } = ctx
  const isFromUi = actor.kind === 'user' && actor.tokenId === undefined
  const createdByUserId = actor.kind === 'user' ? actor.userId : null
  return insertRun(ctx, workspace, {
    input,
    origin: { ...origin, source: isFromUi ? 'tfe-ui' : source, createdByUserId },
  })
}

type AuthorisedRun = { input: CreateRun; origin: RunOrigin }

/** Creates a run that the caller has authorised. The workspace's auto-apply counts only for actors that may apply. */
export async function insertRun(ctx: Ctx, workspace: Workspace, { input, origin }: AuthorisedRun): Promise<string> {
  checkOptions(input)
  return transact(ctx, async (ctx) => {
    const stages = await readPlannedStages(ctx, workspace)
    const { workspace: locked, ...row } = await lockForNewRun(ctx.db, workspace.id, origin.configurationVersionId)
    if (!locked) throw conflict(`the workspace ${workspace.name} has just been deleted`)
    const versionId = origin.configurationVersionId ?? locked.current_configuration_version_id
    const version =
      versionId === null && workspace.repository
        ? await fetchedVersion(ctx, workspace, workspace.repository)
        : requireConfiguration(versionId, row.version, origin.awaitsConfiguration)
    await checkPool(ctx, workspace)
    const run = newRun(ctx, workspace, { input, origin, version, number: locked.run_count + 1 })
    const planned = await stages()
    return insert(ctx, locked, { run: { ...run, stages: planned.stages }, planned })
  })
}

/** The first configuration of a workspace with a repository, which is fetched after the transaction. */
async function fetchedVersion(ctx: TransactionCtx, workspace: Workspace, repository: WorkspaceRepository) {
  const version = await insertConfigurationVersion(ctx, workspace, {
    input: {},
    source: SERVICE_PROVIDERS[repository.service_provider].source,
    status: 'fetching',
    ingressAttributesId: null,
  })
  await raise(ctx, configurationWanted, { versionId: version.id })
  return { ...version, is_fork: false }
}

/** Checks that the workspace may use its pool: default pools and scopes of pools change. */
async function checkPool(ctx: Ctx, workspace: Workspace) {
  const { agentPoolId: poolId } = effectiveExecution(workspace)
  if (poolId === null) return
  const { organization_id: organizationId, id: workspaceId, project_id: projectId } = workspace
  await requirePoolFor(ctx, { organizationId, workspaceId, projectId }, { poolId })
}

type Insertion = { run: RunRow; planned: PlannedStages }

async function insert(ctx: TransactionCtx, workspace: LockedWorkspace, { run, planned }: Insertion) {
  const locked = newLockedRun(ctx, workspace, run)
  const stages = Object.fromEntries(run.stages.map((stage) => [stage, 'pending']))
  const transition = transitionOf(ctx, locked, {}, stages)
  const event = runEventRow(ctx, run.id, { action: 'created', actorUserId: run.created_by_user_id })
  const audit = runCreationAudit(run)
  await insertNewRun(ctx.db, locked, { transition, event, audit: auditRow(ctx, audit) })
  announceEvent(ctx, audit)
  measureNewRun(ctx, run)
  measureTransition(ctx, run, transition)
  if (transition.jobTopic !== undefined) ctx.signals.publishToOne(ctx.db, transition.jobTopic)
  if (run.stages.length > 0) await createStages(ctx, run, planned)
  await raise(ctx, runCreated, run)
  await startEffects(ctx, { locked, transition })
  return run.id
}

const RELATION = '/data/relationships/configuration-version'

type VersionForRun = NonNullable<Awaited<ReturnType<typeof lockForNewRun>>['version']>

/** The requested configuration version, or the current one of the workspace, if it is uploaded or, with `awaits`, being fetched. */
function requireConfiguration(id: string | null, version: VersionForRun | undefined, awaits = false): VersionForRun {
  const reject = (detail: string) => invalid(detail, RELATION)
  if (id === null)
    throw reject('configuration version is missing: the workspace has no configuration yet, upload one first')
  if (!version) throw reject(`the workspace has no configuration version ${id}`)
  if (awaits && version.status === 'fetching') return version
  if (version.status === 'pending' || version.status === 'fetching')
    throw reject(`the configuration version ${id} has not been uploaded yet`)
  if (version.status !== 'uploaded')
    throw reject(`the configuration version ${id} is ${version.status}; it must be uploaded`)
  return version
}

/** Creates the run of an uploaded configuration version, unless the execution mode is local. The actor may plan in the workspace. */
export async function insertUploadedRun(ctx: Ctx, workspace: Workspace, configurationVersionId: string) {
  if (effectiveExecution(workspace).mode === 'local') return
  const origin = { source: 'tfe-configuration-version', createdByUserId: actorUserId(ctx.actor) } as const
  await insertRun(ctx, workspace, { input: {}, origin: { ...origin, configurationVersionId } })
}

type ListInput = { page: Page; query: RunQuery }

export async function listWorkspaceRuns(ctx: Ctx, workspace: Workspace, { page, query }: ListInput) {
  const now = ctx.now()
  const filter = runFilter(query, now)
  const { id: workspaceId, organization_id: organizationId } = workspace
  const list = await store.listWorkspaceRuns(ctx.db, { organizationId, workspaceId, page, filter, now })
  return { rows: list.rows.map((row) => runWithAccess(row, workspace.access)), total: list.total }
}

/** Runs of the workspaces that the actor may see; `isLast` if there is no further page. */
export async function listOrganizationRuns(ctx: Ctx, { id, access }: Organization, { page, query }: ListInput) {
  const now = ctx.now()
  const list = { organizationId: id, page, filter: runFilter(query, now), ...visibility(access), now }
  const rows = await store.listOrganizationRuns(ctx.db, ctx.actor, list)
  const runs = rows.map(({ grants, ...row }) => runWithAccess(row, listedAccess(access, grants)))
  return { rows: runs.slice(0, page.size), isLast: rows.length <= page.size }
}

function visibility(access: Organization['access']) {
  return { seesAll: seesEveryWorkspace(access), grants: dependsOnGrants(access) }
}

type QueueInput = { page: Page; query: Query<typeof QUEUE_QUERY> }

/** A page of an organization's unfinished runs, optionally of some status groups, in order of creation. */
export async function listQueue(ctx: Ctx, { id, access }: Organization, { page, query }: QueueInput) {
  const statuses = groupStatuses(query['filter[status_group]'])
  const list = { organizationId: id, page, statuses, ...visibility(access), now: ctx.now() }
  const { rows, total } = await store.listQueue(ctx.db, ctx.actor, list)
  const runs = rows.map(({ position, grants, ...row }) => {
    return { position, run: runWithAccess(row, listedAccess(access, grants)) }
  })
  return { rows: runs, total }
}

/** The archive of a version, for actors who may read its runs, and for the tasks of a run that uses the version. */
export async function openConfiguration(ctx: Ctx, id: string) {
  if (ctx.actor.kind === 'task') {
    const version = await requireConfigurationOfRun(ctx, ctx.actor.runId)
    if (version.id !== id) throw notFound('configuration version')
    return openArchive(ctx, version)
  }
  return openArchive(ctx, await requireConfigurationVersion(ctx, id, 'runs:read'))
}
