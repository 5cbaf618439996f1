import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

export type RunRow = Selectable<Schema['runs']>
export type PhaseRow = Selectable<Schema['phases']>
export type JobRow = Selectable<Schema['agent_jobs']>

export type LockedWorkspace = Pick<
  Selectable<Schema['workspaces']>,
  | 'id'
  | 'organization_id'
  | 'active_run_id'
  | 'current_run_id'
  | 'waiting_runs'
  | 'run_count'
  | 'locked_by_type'
  | 'locked_by_id'
  | 'current_state_version_id'
  | 'latest_state_version_id'
  | 'pending_state_version_id'
  | 'current_configuration_version_id'
  | 'has_drift'
>

/** What the machine needs to know of a phase, with timestamps as JSON has them. */
export type LockedPhase = Pick<PhaseRow, 'id' | 'kind' | 'status' | 'job_id' | 'held_until'> & {
  status_timestamps: Record<string, string>
}
export type LockedJob = Pick<JobRow, 'id' | 'kind' | 'status' | 'attempt' | 'agent_id' | 'command'>

/**
 * A run with everything that changes with it, read while this transaction locks the row of the workspace. Every change of
 * a run takes that lock, so what was read stays true until the commit.
 */
export type LockedRun = {
  workspace: LockedWorkspace
  run: RunRow
  plan: LockedPhase
  apply: LockedPhase
  /** The job that is queued or running. */
  job: LockedJob | undefined
  /** The agent that made the plan and may still have the directory of the run. */
  planAgentId: string | null
  /** Whether it is the first in the queue of its workspace. */
  isFirst: boolean
  /** Whether its configuration is newer than the current one of the workspace. */
  isConfigurationNewer: boolean
}
