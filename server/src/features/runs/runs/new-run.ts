import { traceparent } from '@groundstate/agent/tracing/tracing'
import type { CreateRun } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import type { Workspace } from '../../workspaces/workspaces/access.ts'
import { effectiveExecution } from '../../workspaces/workspaces/settings.ts'
import type { LockedPhase, LockedRun, LockedWorkspace, RunRow } from './locked-run-store.ts'

export type RunOrigin = {
  configurationVersionId?: string | undefined
  /** The configuration may still be fetched from a repository: the run waits for it. */
  awaitsConfiguration?: boolean
  source: RunRow['source']
  triggerReason?: string
  createdByUserId: string | null
  /** Whether the client can render JSON log lines of the engine. */
  structured?: boolean
  /** The engine of the client. Without one, the agent that executes the run decides. */
  engineProduct?: RunRow['engine_product'] | undefined
  triggeringRun?: { id: string; workspaceId: string; depth: number }
}

/** Throws `invalid` for options that are mutually exclusive. */
export function checkOptions(input: CreateRun) {
  const both = (one: keyof CreateRun, other: keyof CreateRun) => {
    if (input[one] && input[other])
      throw invalid(`${one} and ${other} are mutually exclusive`, `/data/attributes/${other}`)
  }
  both('is-destroy', 'refresh-only')
  both('plan-only', 'save-plan')
  both('save-plan', 'auto-apply')
  if (input['refresh-only'] && input.refresh === false)
    throw invalid('refresh cannot be false in a refresh-only run', '/data/attributes/refresh')
  const version = input['terraform-version'] ?? input['engine-version']
  if (version && !input['plan-only']) {
    const name = input['terraform-version'] ? 'terraform-version' : 'engine-version'
    throw invalid(`${name} can be set only together with plan-only`, `/data/attributes/${name}`)
  }
}

type NewRun = {
  input: CreateRun
  origin: RunOrigin
  version: { id: string; speculative: boolean; status: string; ingress_attributes_id: string | null; is_fork: boolean }
  number: number
}
type NewRunCtx = Pick<Ctx, 'now' | 'newId' | 'config'>

const DEFAULT_MESSAGE = 'Queued manually via the Terraform Enterprise API'

/** The pending row of a new run. Throws `invalid` if the settings of the workspace forbid the run. */
export function newRun(ctx: NewRunCtx, workspace: Workspace, { input, origin, version, number }: NewRun): RunRow {
  const { mode, agentPoolId } = effectiveExecution(workspace)
  if (mode === 'local')
    throw invalid(`the workspace ${workspace.name} has the execution mode local: its runs are executed by the CLI`)
  if (mode === 'agent' && agentPoolId === null)
    throw invalid(`the workspace ${workspace.name} has the execution mode agent, and no agent pool`)
  if (input['is-destroy'] && !workspace.allow_destroy_plan)
    throw invalid(`the workspace ${workspace.name} does not allow destroy plans`, '/data/attributes/is-destroy')

  const now = ctx.now()
  const planOnly = version.speculative || version.is_fork || (input['plan-only'] ?? false)
  const requestedVersion = input['terraform-version'] ?? input['engine-version'] ?? undefined
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
    awaits_review: !planOnly && origin.awaitsConfiguration === true && workspace.auto_apply_reviewed,
    allow_empty_apply: input['allow-empty-apply'] ?? false,
    allow_config_generation: input['allow-config-generation'] ?? false,
    debugging_mode: input['debugging-mode'] ?? false,
    target_addrs: input['target-addrs'] ?? [],
    replace_addrs: input['replace-addrs'] ?? [],
    variables: input.variables ?? [],
    engine_product: origin.engineProduct ?? ctx.config.engine,
    engine_is_open: origin.engineProduct === undefined,
    engine_version: requestedVersion ?? workspace.engine_version,
    engine_version_required: requestedVersion !== undefined || workspace.engine_version_required,
    working_directory: workspace.working_directory,
    structured_output: workspace.structured_run_output_enabled && (origin.structured ?? false),
    execution_mode: mode,
    agent_pool_id: agentPoolId ?? BUILT_IN_POOL_ID,
    stages: [],
    fetches: version.status === 'fetching',
    // A new run of the same configuration, which anyone may start, withholds them, too.
    withholds_secrets: version.is_fork,
    ingress_attributes_id: version.ingress_attributes_id,
    has_changes: false,
    base_state_version_id: null,
    engine_organization_name: null,
    engine_workspace_name: null,
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
    traceparent: traceparent() ?? null,
    created_at: now,
    updated_at: now,
  }
}

export function newLockedRun(ctx: Pick<Ctx, 'now' | 'newId'>, workspace: LockedWorkspace, run: RunRow): LockedRun {
  const phase = (kind: 'plan' | 'apply'): LockedPhase => ({
    id: ctx.newId(kind),
    kind,
    status: 'pending',
    status_timestamps: { pending: ctx.now().toISOString() },
    job_id: null,
    deferred_until: null,
  })
  return {
    workspace,
    run,
    plan: phase('plan'),
    apply: phase('apply'),
    job: undefined,
    planAgentId: null,
    isFirst: false,
    isConfigurationNewer: false,
    isObserved: !run.plan_only,
  }
}
