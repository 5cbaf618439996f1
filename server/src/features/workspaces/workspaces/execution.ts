import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import { invalid } from '../../../errors.ts'
import { namedPool } from '../../organizations/organizations/named-pool.ts'
import { checkOverwrites } from '../../organizations/organizations/setting-overwrites.ts'

export type ExecutionMode = 'remote' | 'local' | 'agent'
export type ExecutionSettings = { execution_mode: ExecutionMode | null; agent_pool_id: string | null }
type Defaults = {
  project_execution_mode: ExecutionMode | null
  project_agent_pool_id: string | null
  organization_execution_mode: ExecutionMode
  organization_agent_pool_id: string | null
}

/** Where a workspace's runs execute: its own settings, else its project's, else its organization's. */
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

/** What the workspaces of a project inherit. */
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
