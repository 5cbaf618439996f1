import type { Stage } from '@groundstate/contract/run-tasks'
import { type Level, STAGE_NAMES, type Task, everywhereOf } from './workspace-tasks.ts'

/** The values of a form. The HMAC key is write-only: `key` replaces it. */
export type TaskValues = {
  name: string
  url: string
  description: string
  enabled: boolean
  key: string
  isKeyRemoved: boolean
  certificate: string
  /** Empty if the server sends the requests. */
  poolId: string
  isGlobal: boolean
  level: Level
} & Record<Stage, boolean>

export type TaskBody = { attributes: Record<string, unknown>; relationships?: Record<string, unknown> | undefined }

export const NEW_TASK: TaskValues = {
  name: '',
  url: '',
  description: '',
  enabled: true,
  key: '',
  isKeyRemoved: false,
  certificate: '',
  poolId: '',
  isGlobal: false,
  level: 'advisory',
  pre_plan: false,
  post_plan: true,
  pre_apply: false,
  post_apply: false,
}

export function taskValues(task: Task): TaskValues {
  const { attributes, relationships } = task
  const { stages, enabled: isGlobal, 'enforcement-level': level } = everywhereOf(task)
  // The stages of a task that was never global are empty.
  const selected: readonly string[] = stages.length > 0 ? stages : ['post_plan']
  return {
    ...NEW_TASK,
    name: attributes.name,
    url: attributes.url,
    description: attributes.description ?? '',
    enabled: attributes.enabled,
    certificate: attributes['ca-certificate'] ?? '',
    poolId: relationships['agent-pool'].data?.id ?? '',
    isGlobal,
    level,
    ...(Object.fromEntries(STAGE_NAMES.map((stage) => [stage, selected.includes(stage)])) as Record<Stage, boolean>),
  }
}

/** The body that saves the changes; `values` are those of the whole form. */
export function taskBody(changes: Partial<TaskValues>, values: TaskValues): TaskBody {
  const { name, url, description, enabled, key, isKeyRemoved, certificate, poolId } = changes
  const isGlobalChanged = ['isGlobal', 'level', ...STAGE_NAMES].some((field) => field in changes)
  return {
    attributes: {
      ...(name !== undefined && { name: name.trim() }),
      ...(url !== undefined && { url: url.trim() }),
      ...(description !== undefined && { description: description.trim() || null }),
      ...(enabled !== undefined && { enabled }),
      ...(key && { 'hmac-key': key }),
      ...(isKeyRemoved && { 'hmac-key': null }),
      ...(certificate !== undefined && { 'ca-certificate': certificate.trim() || null }),
      ...(isGlobalChanged && { 'global-configuration': globalConfiguration(values) }),
    },
    relationships:
      poolId === undefined
        ? undefined
        : { 'agent-pool': { data: poolId === '' ? null : { type: 'agent-pools', id: poolId } } },
  }
}

function globalConfiguration(values: TaskValues) {
  const stages = selectedStages(values)
  // The server accepts no empty list.
  return { enabled: values.isGlobal, ...(stages.length > 0 && { stages }), 'enforcement-level': values.level }
}

export function selectedStages(values: Record<Stage, boolean>) {
  return STAGE_NAMES.filter((stage) => values[stage])
}
