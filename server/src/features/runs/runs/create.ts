import type { CreateRun } from '@groundstate/contract/runs'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { writeTogether } from '../../../db/together.ts'
import { conflict, forbidden, invalid } from '../../../errors.ts'
import { publishing } from '../../../signals.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/service.ts'
import { requirePoolFor } from '../../organizations/organizations/service.ts'
import { findUserActor } from '../../identity/users/service.ts'
import { listReadableWorkspaces, requireWorkspace, type Workspace } from '../../workspaces/workspaces/service.ts'
import { type HeldPhase, type HeldRun, type HeldWorkspace, holdWorkspace, type RunRow } from './held.ts'
import { outcome } from './outcome.ts'
import { follow, insertEvents } from './transitions.ts'
import * as store from './store.ts'
import { auditRow } from '../../../audit/record.ts'
import { effectiveExecution } from '../../workspaces/workspaces/execution.ts'
import { createStages, plannedStages } from '../task-stages/service.ts'
import { eventInsert } from '../../../audit/store.ts'

/** What starts a run, beyond what its attributes say. */
export type RunOrigin = {
  configurationVersionId?: string | undefined
  source: RunRow['source']
  triggerReason?: string
  createdByUserId: string | null
  /** The client renders the engine's JSON lines, so the logs may be such. */
  structured?: boolean
  engineProduct?: RunRow['engine_product']
  triggeringRun?: { id: string; workspaceId: string; depth: number }
}

/**
 * Creates a run in the workspace, and takes it as far as it gets at once: to an agent when nothing holds it back. Throws
 * `invalid` for options that exclude each other, and for a configuration that can't be run.
 */
export async function createRun(
  ctx: Ctx,
  workspaceId: string,
  { input, ...origin }: { input: CreateRun; configurationVersionId?: string | undefined; structured: boolean },
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
      source: byHand ? 'tfe-ui' : 'tfe-api',
      createdByUserId: actor.kind === 'user' ? actor.userId : null,
      engineProduct: ctx.request?.userAgent?.startsWith('OpenTofu/') ? 'tofu' : 'terraform',
    },
  })
}

/**
 * Creates a run for a caller that has been authorised: the actor's permissions in `workspace.can` still decide whether the
 * workspace's own auto-apply counts. Returns the run's id.
 */
export async function insertRun(
  ctx: Ctx,
  workspace: Workspace,
  { input, origin }: { input: CreateRun; origin: RunOrigin },
): Promise<string> {
  checkOptions(input)
  return transact(ctx, async (ctx) => {
    const held = await holdWorkspace(ctx.db, workspace.id)
    if (!held) throw conflict(`the workspace ${workspace.name} has just been deleted`)
    const version = await requireConfiguration(ctx, held, origin.configurationVersionId)
    await checkPool(ctx, workspace)
    const stages = await plannedStages(ctx, workspace)
    const run = { ...newRun(ctx, workspace, { input, origin, version, number: held.run_count + 1 }), stages }
    return insert(ctx, held, run)
  })
}

/** A default may name a pool, and a scope may have changed, since anybody looked whether this workspace may use it. */
async function checkPool(ctx: Ctx, workspace: Workspace) {
  const { agentPoolId: poolId } = effectiveExecution(workspace)
  if (poolId === null) return
  const { organization_id: organizationId, id: workspaceId, project_id: projectId } = workspace
  await requirePoolFor(ctx, { organizationId, workspaceId, projectId }, { poolId })
}

/** The row of a run with the states that it begins in. */
async function insert(ctx: TransactionCtx, workspace: HeldWorkspace, run: RunRow) {
  const phase = (kind: 'plan' | 'apply'): HeldPhase => ({
    id: ctx.newId(kind),
    kind,
    status: 'pending',
    status_timestamps: { pending: ctx.now().toISOString() },
    job_id: null,
    held_until: null,
    log_opened_at: null,
  })
  const held: HeldRun = {
    workspace,
    run,
    plan: phase('plan'),
    apply: phase('apply'),
    job: undefined,
    planAgentId: null,
    first: false,
  }
  const moved = outcome(ctx, held, {}, Object.fromEntries(run.stages.map((stage) => [stage, 'pending'])))
  // The database numbers the row.
  const { seq: _, queue_order: __, variables, ...columns } = run
  const phases = [held.plan, held.apply].map(({ id, kind, status, status_timestamps }) => ({
    id,
    kind,
    run_id: run.id,
    status,
    status_timestamps: JSON.stringify(status_timestamps),
    ...(kind === 'plan' ? moved.plan : moved.apply),
  }))

  await writeTogether(
    ctx.db,
    [
      ctx.db.insertInto('runs').values({
        ...columns,
        status_timestamps: JSON.stringify(run.status_timestamps),
        variables: JSON.stringify(variables),
        ...moved.run,
      }),
      ...phases.map((row) => ctx.db.insertInto('phases').values(row)),
      insertEvents(ctx, run.id, [{ action: 'created', actorUserId: run.created_by_user_id }]),
      eventInsert(auditRow(ctx, creation(run))),
      ctx.db
        .updateTable('workspaces')
        .set({ ...moved.workspace, run_count: run.number, latest_run_id: run.id })
        .where('id', '=', workspace.id),
      ...(moved.job ? [ctx.db.insertInto('agent_jobs').values(moved.job)] : []),
    ],
    publishing(moved.topics),
  )
  if (run.stages.length > 0) await createStages(ctx, run, run.stages as Parameters<typeof createStages>[2])
  await follow(ctx, held, moved)
  return run.id
}

function creation(run: RunRow) {
  const { id, workspace_id: workspace, configuration_version_id: configuration_version } = run
  const { source, is_destroy, plan_only, auto_apply } = run
  return {
    organizationId: run.organization_id,
    action: 'create',
    resource: { type: 'run', id },
    meta: { workspace, configuration_version, source, is_destroy, plan_only, auto_apply },
  }
}

function checkOptions(input: CreateRun) {
  const both = (one: keyof CreateRun, other: keyof CreateRun) => {
    if (input[one] && input[other]) throw invalid(`${one} and ${other} exclude each other`, `/data/attributes/${other}`)
  }
  both('is-destroy', 'refresh-only')
  both('plan-only', 'save-plan')
  both('save-plan', 'auto-apply')
  if (input['refresh-only'] && input.refresh === false)
    throw invalid('a refresh-only run must refresh: refresh can not be false', '/data/attributes/refresh')
  const version = input['terraform-version'] ?? input['engine-version']
  if (version && !input['plan-only']) {
    const name = input['terraform-version'] ? 'terraform-version' : 'engine-version'
    throw invalid(`${name} can be set only together with plan-only`, `/data/attributes/${name}`)
  }
}

const RELATION = '/data/relationships/configuration-version'

/** The configuration that is asked for, or else the workspace's own. */
async function requireConfiguration(ctx: TransactionCtx, workspace: HeldWorkspace, id: string | undefined) {
  const wanted = id ?? workspace.current_configuration_version_id
  if (wanted === null)
    throw invalid('the workspace has no configuration yet: upload a configuration version first', RELATION)
  const version = await store.findConfiguration(ctx.db, { id: wanted, workspaceId: workspace.id })
  if (!version) throw invalid(`the workspace has no configuration version ${wanted}`, RELATION)
  if (version.status === 'pending' || version.status === 'fetching')
    throw invalid(`the configuration version ${wanted} has not been uploaded yet`, RELATION)
  if (version.status !== 'uploaded')
    throw invalid(`the configuration version ${wanted} is ${version.status}, it must be uploaded`, RELATION)
  return version
}

type NewRun = {
  input: CreateRun
  origin: RunOrigin
  version: { id: string; speculative: boolean }
  number: number
}

const DEFAULT_MESSAGE = 'Queued manually via the Terraform Enterprise API'

function newRun(ctx: Ctx, workspace: Workspace, { input, origin, version, number }: NewRun): RunRow {
  const { mode, agentPoolId } = effectiveExecution(workspace)
  if (mode === 'local')
    throw invalid(`the workspace ${workspace.name} has the execution mode local: its runs are made by the command line`)
  if (mode === 'agent' && agentPoolId === null)
    throw invalid(`the workspace ${workspace.name} has the execution mode agent, and no agent pool`)
  if (input['is-destroy'] && !workspace.allow_destroy_plan)
    throw invalid(`the workspace ${workspace.name} does not allow destroy plans`, '/data/attributes/is-destroy')

  const now = ctx.now()
  const planOnly = version.speculative || (input['plan-only'] ?? false)
  const chosenEngine = input['terraform-version'] ?? input['engine-version'] ?? undefined
  const savePlan = !planOnly && (input['save-plan'] ?? false)
  const autoApply = input['auto-apply'] ?? (workspace.auto_apply && workspace.can.has('runs:apply'))
  return {
    id: ctx.newId('run'),
    workspace_id: workspace.id,
    organization_id: workspace.organization_id,
    configuration_version_id: version.id,
    seq: 0,
    number,
    status: 'pending',
    status_timestamps: { pending: now.toISOString() },
    message: input.message ?? DEFAULT_MESSAGE,
    source: origin.source,
    trigger_reason: origin.triggerReason ?? 'manual',
    is_destroy: input['is-destroy'] ?? false,
    refresh: input.refresh ?? true,
    refresh_only: input['refresh-only'] ?? false,
    plan_only: planOnly,
    save_plan: savePlan,
    auto_apply: !planOnly && !savePlan && autoApply,
    allow_empty_apply: input['allow-empty-apply'] ?? false,
    allow_config_generation: input['allow-config-generation'] ?? false,
    debugging_mode: input['debugging-mode'] ?? false,
    target_addrs: input['target-addrs'] ?? [],
    replace_addrs: input['replace-addrs'] ?? [],
    variables: input.variables ?? [],
    engine_product: origin.engineProduct ?? 'terraform',
    engine_version: chosenEngine ?? workspace.engine_version,
    engine_version_required: chosenEngine !== undefined || workspace.engine_version_required,
    working_directory: workspace.working_directory,
    structured_output: workspace.structured_run_output_enabled && (origin.structured ?? false),
    execution_mode: mode,
    agent_pool_id: agentPoolId ?? BUILT_IN_POOL_ID,
    stages: [],
    has_changes: false,
    base_state_version_id: null,
    waits: false,
    queue_order: 0,
    occupies: false,
    confirmed_at: null,
    confirmed_by_user_id: null,
    cancel_requested_at: null,
    canceled_by_user_id: null,
    force_cancel_available_at: null,
    error: null,
    created_by_user_id: origin.createdByUserId,
    triggering_run_id: origin.triggeringRun?.id ?? null,
    triggering_workspace_id: origin.triggeringRun?.workspaceId ?? null,
    trigger_depth: origin.triggeringRun?.depth ?? 0,
    created_at: now,
    updated_at: now,
  }
}

/**
 * Starts the run of a configuration version whose upload was accepted, as whoever made the version: the upload itself comes
 * without a token. Who may no longer plan there gets no run, and who may not apply none that applies by itself.
 */
export async function insertUploadedRun(
  ctx: Ctx,
  version: { id: string; workspace_id: string; created_by_user_id: string | null },
) {
  const creator = version.created_by_user_id === null ? undefined : await findUserActor(ctx, version.created_by_user_id)
  const [workspace] = creator ? await listReadableWorkspaces({ ...ctx, actor: creator }, [version.workspace_id]) : []
  if (!workspace?.can.has('runs:plan') || effectiveExecution(workspace).mode === 'local') return undefined
  return insertRun(ctx, workspace, {
    input: {},
    origin: {
      configurationVersionId: version.id,
      source: 'tfe-configuration-version',
      createdByUserId: version.created_by_user_id,
    },
  })
}
