import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Updateable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'
import { invalid } from '../../../errors.ts'
import { namedPool, checkOverwrites } from '../../organizations/organizations/access.ts'
import type { Workspace } from './access.ts'

type Attributes = UpdateWorkspace['attributes']

/**
 * The columns that a body's plain settings change. An absent setting stays; null resets it to its default.
 * `clientEngine` is the version of the command line that sends the body. A command line writes its own version into
 * each workspace that it creates, so that version was not chosen by the user.
 */
export function workspaceSettingColumns(
  attributes: Attributes,
  clientEngine: string | undefined,
): Updateable<Schema['workspaces']> {
  const engine = withDefault(attributes['engine-version'] ?? attributes['terraform-version'], 'latest')
  return {
    name: attributes.name,
    description: attributes.description,
    engine_version: engine,
    engine_version_required: engine === undefined ? undefined : engine !== clientEngine,
    working_directory: withDefault(attributes['working-directory'], ''),
    auto_apply: withDefault(attributes['auto-apply'], false),
    auto_apply_run_trigger: withDefault(attributes['auto-apply-run-trigger'], false),
    trigger_only_on_output_change: withDefault(attributes['trigger-only-on-output-change'], false),
    allow_destroy_plan: withDefault(attributes['allow-destroy-plan'], true),
    assessments_enabled: withDefault(attributes['assessments-enabled'], false),
    file_triggers_enabled: withDefault(attributes['file-triggers-enabled'], true),
    ...triggerColumns(attributes),
    queue_all_runs: withDefault(attributes['queue-all-runs'], false),
    speculative_enabled: withDefault(attributes['speculative-enabled'], true),
    structured_run_output_enabled: withDefault(attributes['structured-run-output-enabled'], true),
    global_remote_state: withDefault(attributes['global-remote-state'], false),
    project_remote_state: withDefault(attributes['project-remote-state'], false),
    ...autoDestroyColumns(attributes),
    migration_environment: attributes['migration-environment'],
    source_name: attributes['source-name'],
    source_url: attributes['source-url'],
  }
}

/** A workspace has prefixes or patterns: a list of one of them, even an empty one, replaces the other. */
function triggerColumns({ 'trigger-prefixes': prefixes, 'trigger-patterns': patterns }: Attributes) {
  if (prefixes?.length && patterns?.length) {
    throw invalid(
      'trigger-prefixes and trigger-patterns cannot both be set: omit one of them or leave it empty',
      '/data/attributes/trigger-patterns',
    )
  }
  return {
    trigger_prefixes: prefixes === undefined && patterns ? [] : withDefault(prefixes, []),
    trigger_patterns: patterns === undefined && prefixes ? [] : withDefault(patterns, []),
  }
}

/** A workspace that inherits has no own values, even if a client sends back the inherited ones. */
function autoDestroyColumns(attributes: Attributes) {
  const inherits = attributes['inherits-project-auto-destroy']
  return {
    auto_destroy_at: inherits ? null : attributes['auto-destroy-at'],
    auto_destroy_activity_duration: inherits ? null : attributes['auto-destroy-activity-duration'],
    inherits_project_auto_destroy: withDefault(inherits, true),
  }
}

function withDefault<T>(value: T | null | undefined, preset: T): T | undefined {
  return value === null ? preset : value
}

type ExecutionMode = 'remote' | 'local' | 'agent'
type ExecutionSettings = { execution_mode: ExecutionMode | null; agent_pool_id: string | null }
type Defaults = {
  project_execution_mode: ExecutionMode | null
  project_agent_pool_id: string | null
  organization_execution_mode: ExecutionMode
  organization_agent_pool_id: string | null
}

/** Effective execution of a workspace's runs: its own settings, else its project's, else its organization's. */
export function effectiveExecution(workspace: ExecutionSettings & Defaults) {
  const mode = workspace.execution_mode ?? workspace.project_execution_mode ?? workspace.organization_execution_mode
  const pool = workspace.agent_pool_id ?? workspace.project_agent_pool_id ?? workspace.organization_agent_pool_id
  return { mode, agentPoolId: mode === 'agent' ? pool : null }
}

type ProjectDefaults = {
  default_execution_mode: ExecutionMode | null
  default_agent_pool_id: string | null
  organization_execution_mode: ExecutionMode
  organization_agent_pool_id: string | null
}

/** Execution defaults that workspaces of a project inherit. */
export function defaultsOf(project: ProjectDefaults) {
  return {
    project_execution_mode: project.default_execution_mode,
    project_agent_pool_id: project.default_agent_pool_id,
    organization_execution_mode: project.organization_execution_mode,
    organization_agent_pool_id: project.organization_agent_pool_id,
  }
}

/**
 * The execution settings that a workspace has after `input`; null follows the defaults. Throws `invalid` when an agent
 * pool is named without the execution mode that uses it, or the mode without a pool, or when one is to follow the defaults
 * and the other is not.
 */
export function changeExecution(
  current: ExecutionSettings,
  defaults: Defaults,
  input: UpdateWorkspace,
): ExecutionSettings {
  const { attributes } = input
  const legacy = attributes.operations === true ? 'remote' : attributes.operations === false ? 'local' : undefined
  const requested = attributes['execution-mode'] ?? legacy
  const overwrites = attributes['setting-overwrites']
  checkOverwrites(overwrites?.['agent-pool'], overwrites?.['execution-mode'])
  const inherits =
    overwrites?.['execution-mode'] === false || (requested === undefined && attributes['execution-mode'] === null)
  const mode = inherits ? null : (requested ?? current.execution_mode)

  const effectiveMode = effectiveExecution({ ...defaults, execution_mode: mode, agent_pool_id: null }).mode
  const { poolId: named, pointer } = namedPool(input, 'agent-pool')
  if (named && effectiveMode !== 'agent') {
    throw invalid("Agent pool must not be specified unless using 'agent' execution mode", pointer)
  }
  const follows = overwrites?.['agent-pool'] === false || inherits
  const pool =
    effectiveMode !== 'agent' || follows ? (named ?? null) : named === undefined ? current.agent_pool_id : named
  if (mode === 'agent' && pool === null) {
    throw invalid("Agent pool must be specified when using 'agent' execution mode", pointer)
  }
  return { execution_mode: mode, agent_pool_id: pool }
}

const UNIT_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000 } as const

type Settings = Pick<
  Workspace,
  | 'auto_destroy_at'
  | 'auto_destroy_activity_duration'
  | 'inherits_project_auto_destroy'
  | 'project_auto_destroy_activity_duration'
  | 'latest_change_at'
>

/** Effective auto-destroy time and idle duration; the workspace's own settings take precedence. */
export function effectiveAutoDestroy(workspace: Settings) {
  const { auto_destroy_at: ownTime, auto_destroy_activity_duration: ownDuration } = workspace
  const inherits = workspace.inherits_project_auto_destroy && ownTime === null && ownDuration === null
  const duration = inherits ? workspace.project_auto_destroy_activity_duration : ownDuration
  return { inherits, duration, at: ownTime ?? (duration && after(workspace.latest_change_at, duration)) }
}

function after(start: Date, duration: string) {
  return new Date(start.getTime() + Number.parseInt(duration, 10) * UNIT_MS[duration.endsWith('d') ? 'd' : 'h'])
}
