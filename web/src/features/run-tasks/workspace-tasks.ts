import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { Stage, taskSchema, workspaceTaskSchema } from '@groundstate/contract/run-tasks'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'

export type Task = Wire<typeof taskSchema>
export type WorkspaceTask = Wire<typeof workspaceTaskSchema>

const LOCAL = { enabled: false, stages: [], 'enforcement-level': 'advisory' } as const

/** How a task applies to every workspace; not at all where the plan lacks that. */
export function everywhereOf({ attributes }: Pick<Task, 'attributes'>) {
  return attributes['global-configuration'] ?? LOCAL
}

/** Reads all pages of a list, up to a limit that no organization reaches. */
async function allPages<Item>(path: string, limit = 10): Promise<Item[]> {
  const items: Item[] = []
  for (let page = 1; page <= limit; page++) {
    const response = await get<{ data: Item[]; meta: PageOnWire<typeof taskSchema>['meta'] }>(
      `${path}${queryString({ 'page[size]': 100, 'page[number]': page })}`,
    )
    items.push(...response.data)
    if (response.meta.pagination['next-page'] === null) break
  }
  return items
}

export function useTasks(organization: string) {
  return useQuery({
    queryKey: ['tasks', organization],
    queryFn: async () => allPages<Task>(`/organizations/${organization}/tasks`),
  })
}

export function useWorkspaceTasks(workspaceId: string) {
  return useQuery({
    queryKey: ['workspace-tasks', workspaceId],
    meta: { dependsOn: ['tasks'] },
    queryFn: async () => allPages<WorkspaceTask>(`/workspaces/${workspaceId}/tasks`),
  })
}

/** The enabled tasks of each stage. The stricter level wins if a task is both attached and global. */
export function tasksByStage(tasks: readonly Task[], attachments: readonly WorkspaceTask[]) {
  const enabled = tasks.filter(({ attributes }) => attributes.enabled)
  return STAGE_NAMES.map((stage) => ({
    stage,
    tasks: enabled.flatMap((task) => {
      const everywhere = everywhereOf(task)
      const attachment = attachments.find(
        ({ attributes, relationships }) => relationships.task.data?.id === task.id && attributes.stages.includes(stage),
      )
      const isGlobal = everywhere.enabled && everywhere.stages.some((name) => name === stage)
      if (!attachment && !isGlobal) return []
      const isMandatory =
        attachment?.attributes['enforcement-level'] === 'mandatory' ||
        (isGlobal && everywhere['enforcement-level'] === 'mandatory')
      return [{ task, level: isMandatory ? 'mandatory' : 'advisory', isGlobal } as const]
    }),
  }))
}

export type Attachment = { stages: Stage[]; 'enforcement-level': Level }

export function useAttachTask(workspaceId: string) {
  return useChange(
    async ({ taskId, attributes }: { taskId: string; attributes: Attachment }) =>
      request('POST', `/workspaces/${workspaceId}/tasks`, {
        data: {
          type: 'workspace-tasks',
          attributes,
          relationships: { task: { data: { type: 'tasks', id: taskId } } },
        },
      }),
    ['workspace-tasks', workspaceId],
  )
}

export function useChangeAttachment(workspaceId: string) {
  return useChange(
    async ({ id, attributes }: { id: string; attributes: Attachment }) =>
      request('PATCH', `/workspaces/${workspaceId}/tasks/${id}`, { data: { type: 'workspace-tasks', attributes } }),
    ['workspace-tasks', workspaceId],
  )
}

export const STAGES = {
  pre_plan: { text: 'Pre-plan', about: 'Before the plan. Receives the configuration.' },
  post_plan: { text: 'Post-plan', about: 'After the plan. Receives the changes.' },
  pre_apply: { text: 'Pre-apply', about: 'Between the approval and the apply.' },
  post_apply: { text: 'Post-apply', about: 'After the apply. Can no longer stop the run.' },
} as const satisfies Record<Stage, { text: string; about: string }>

export const STAGE_NAMES = Object.keys(STAGES) as Stage[]

export type Level = 'advisory' | 'mandatory'

/** Effect of a failed task on its run. */
export const LEVELS = {
  advisory: { text: 'Advisory', about: 'A failure warns, and the run continues.', verb: 'warns' },
  mandatory: { text: 'Mandatory', about: 'A failure stops the run.', verb: 'stops' },
} as const satisfies Record<Level, { text: string; about: string; verb: string }>
