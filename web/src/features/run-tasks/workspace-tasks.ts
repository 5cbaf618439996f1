import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { Stage, taskSchema, workspaceTaskSchema } from '@groundstate/contract/run-tasks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'

export type Task = Wire<typeof taskSchema>
export type WorkspaceTask = Wire<typeof workspaceTaskSchema>
type StageName = WorkspaceTask['attributes']['stages'][number]

/** The pages of a list, one after the other; no one has that many tasks, so `most` pages are an end. */
async function pages<Item>(path: string, most = 10): Promise<Item[]> {
  const found: Item[] = []
  for (let page = 1; page <= most; page++) {
    const response = await get<{ data: Item[]; meta: PageOnWire<typeof taskSchema>['meta'] }>(
      `${path}${queryString({ 'page[size]': 100, 'page[number]': page })}`,
    )
    found.push(...response.data)
    if (response.meta.pagination['next-page'] === null) break
  }
  return found
}

/** The run tasks of an organization. */
export function useTasks(organization: string) {
  return useQuery({
    queryKey: ['tasks', organization],
    queryFn: async () => pages<Task>(`/organizations/${organization}/tasks`),
  })
}

/** Sources of the workspace's tasks. */
export function useWorkspaceTasks(workspaceId: string) {
  return useQuery({
    queryKey: ['workspace-tasks', workspaceId],
    meta: { alsoAbout: ['tasks'] },
    queryFn: async () => pages<WorkspaceTask>(`/workspaces/${workspaceId}/tasks`),
  })
}

/** A task as runs of the workspace ask it at one stage, and by what: its attachment, or for all workspaces. */
type PendingTask = { task: Task; level: Level; isGlobal: boolean }

/** The enabled tasks that a run asks at each stage; the stricter level counts where a task is there twice. */
export function pendingTasks(tasks: readonly Task[], attachments: readonly WorkspaceTask[]) {
  return STAGE_NAMES.map((stage) => ({
    stage,
    asked: tasks.filter(({ attributes }) => attributes.enabled).flatMap((task) => askedAt(stage, task, attachments)),
  }))
}

function askedAt(stage: StageName, task: Task, attachments: readonly WorkspaceTask[]): PendingTask[] {
  const { 'global-configuration': everywhere } = task.attributes
  const own = attachments.find(
    ({ attributes, relationships }) => relationships.task.data?.id === task.id && attributes.stages.includes(stage),
  )
  const isGlobal = everywhere.enabled && everywhere.stages.includes(stage)
  const levels = [
    ...(own ? [own.attributes['enforcement-level']] : []),
    ...(isGlobal ? [everywhere['enforcement-level']] : []),
  ]
  if (levels.length === 0) return []
  return [{ task, level: levels.includes('mandatory') ? 'mandatory' : 'advisory', isGlobal }]
}

export type Attachment = { stages: StageName[]; 'enforcement-level': Level }

export function useAttachTask(workspaceId: string) {
  return useChange(workspaceId, async ({ taskId, attributes }: { taskId: string; attributes: Attachment }) =>
    request('POST', `/workspaces/${workspaceId}/tasks`, {
      data: {
        type: 'workspace-tasks',
        attributes,
        relationships: { task: { data: { type: 'tasks', id: taskId } } },
      },
    }),
  )
}

export function useChangeAttachment(workspaceId: string) {
  return useChange(workspaceId, async ({ id, attributes }: { id: string; attributes: Attachment }) =>
    request('PATCH', `/workspaces/${workspaceId}/tasks/${id}`, { data: { type: 'workspace-tasks', attributes } }),
  )
}

export function useDetachTask(workspaceId: string) {
  return useChange(workspaceId, async (id: string) => request('DELETE', `/workspaces/${workspaceId}/tasks/${id}`))
}

function useChange<Input>(workspaceId: string, mutationFn: (input: Input) => Promise<unknown>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn,
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['workspace-tasks', workspaceId] }),
  })
}

type NewTask = { name: string; url: string; description: string; 'hmac-key': string }

/** Creates a run task of the organization. The server first asks its receiver whether it is there. */
export function useCreateTask(organization: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, url, description, 'hmac-key': key }: NewTask) =>
      request<DocumentOnWire<typeof taskSchema>>('POST', `/organizations/${organization}/tasks`, {
        data: {
          type: 'tasks',
          attributes: {
            name,
            url,
            category: 'task',
            description: description || null,
            ...(key !== '' && { 'hmac-key': key }),
          },
        },
      }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['tasks', organization] }),
  })
}

/** The points of a run at which tasks are asked, in their order. */
export const STAGES = {
  pre_plan: { text: 'Pre-plan', about: 'before the plan, with the configuration' },
  post_plan: { text: 'Post-plan', about: 'after the plan, with what it changes' },
  pre_apply: { text: 'Pre-apply', about: 'after the approval, before the apply' },
  post_apply: { text: 'Post-apply', about: 'after the apply: nothing can be stopped any more' },
} as const satisfies Record<Stage, { text: string; about: string }>

export const STAGE_NAMES = Object.keys(STAGES) as Stage[]

export type Level = 'advisory' | 'mandatory'

/** Effect of a failed task on its run. */
export const LEVELS = {
  advisory: { text: 'Advisory', about: 'A failure warns, and the run goes on.', verb: 'warns' },
  mandatory: { text: 'Mandatory', about: 'A failure stops the run.', verb: 'stops' },
} as const satisfies Record<Level, { text: string; about: string; verb: string }>
