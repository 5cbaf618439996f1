import type { CreateTask } from '@groundstate/contract/run-tasks'

/**
 * Attributes that are absent stay as they are. A task that becomes global runs after the plan unless stages are
 * given.
 */
export function globalColumns(given: CreateTask['attributes']['global-configuration'], before: readonly string[] = []) {
  if (given === undefined) return {}
  if (given === null) return { global_enabled: false }
  return {
    global_enabled: given.enabled,
    global_stages: given.stages ?? (given.enabled && before.length === 0 ? ['post_plan'] : undefined),
    global_enforcement_level: given['enforcement-level'],
  }
}
