import type { agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskHealthSchema, taskSchema, taskTestSchema } from '@groundstate/contract/run-tasks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, useChange } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'
import { attempt, toast } from '../../components/overlay-hosts.tsx'
import type { TaskBody } from './task-form.ts'
import type { Task } from './workspace-tasks.ts'

export type TaskHealth = Wire<typeof taskHealthSchema>['attributes']
export type TaskTest = Wire<typeof taskTestSchema>['attributes']
type Included = typeof taskHealthSchema | typeof agentPoolSchema

/** A run task with its health and the agent pool that sends its requests. */
export type ShownTask = { id: string; task: Task; health: TaskHealth | undefined; pool: string | undefined }

const INCLUDE = 'health,agent_pool'

export const taskRoute = getRouteApi('/frame/app/$organization/run-tasks/$task')

type TaskSearch = ReturnType<typeof taskRoute.useSearch>

/** Changes some search parameters of the task's page. */
export function useChangeTaskSearch() {
  const navigate = taskRoute.useNavigate()
  return (changes: TaskSearch, { replace = false } = {}) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace, resetScroll: false })
}

/** The type of all queries of the organization's pages about run tasks; their scope is the organization. */
export const RUN_TASKS = 'run-tasks'

export function useRunTasks(organization: string, { q, page }: { q?: string | undefined; page?: number | undefined }) {
  const query = queryString({ q, 'page[number]': page, include: INCLUDE })
  return useQuery({
    queryKey: [RUN_TASKS, organization, 'list', query],
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}/tasks${query}`
      const document = await get<PageOnWire<typeof taskSchema, Included>>(path, signal)
      return { data: document.data.map((task) => shownTask(task, document)), meta: document.meta }
    },
    placeholderData: keepWithin(organization),
  })
}

export function useRunTask(organization: string, id: string) {
  return useQuery({
    queryKey: [RUN_TASKS, organization, id],
    queryFn: async () => {
      const document = await get<DocumentOnWire<typeof taskSchema, Included>>(`/tasks/${id}?include=${INCLUDE}`)
      return shownTask(document.data, document)
    },
  })
}

function shownTask(task: Task, document: { included?: Wire<Included>[] }): ShownTask {
  const included = includedOf(document)
  const { health, 'agent-pool': pool } = task.relationships
  return {
    id: task.id,
    task,
    health: included.one('task-healths', health)?.attributes,
    pool: included.one('agent-pools', pool)?.attributes.name,
  }
}

/** Creates a run task, after the server has verified its receiver. */
export function useCreateTask(organization: string) {
  return useChange(
    async ({ attributes, relationships }: TaskBody) =>
      request<DocumentOnWire<typeof taskSchema>>('POST', `/organizations/${organization}/tasks`, {
        data: { type: 'tasks', attributes: { category: 'task', ...attributes }, relationships },
      }),
    [RUN_TASKS, organization],
    ['tasks', organization],
  )
}

type Update = TaskBody & { id: string }

export function useUpdateTask(organization: string) {
  return useChange(
    async ({ id, attributes, relationships }: Update) =>
      request<DocumentOnWire<typeof taskSchema>>('PATCH', `/tasks/${id}`, {
        data: { type: 'tasks', id, attributes, relationships },
      }),
    [RUN_TASKS, organization],
    ['tasks', organization],
  )
}

/** Enables or disables a task, with a toast to undo it. */
export function useSwitchTask(organization: string) {
  const update = useUpdateTask(organization)
  return async ({ id, attributes: { name, enabled } }: Task) => {
    const set = async (value: boolean) => update.mutateAsync({ id, attributes: { enabled: value } })
    await attempt(async () => {
      await set(!enabled)
      toast({ text: `${name} ${enabled ? 'disabled' : 'enabled'}`, undo: async () => set(enabled) })
    })
  }
}

export function useDeleteTask(organization: string) {
  return useChange(
    async (id: string) => request('DELETE', `/tasks/${id}`),
    [RUN_TASKS, organization, 'list'],
    ['tasks', organization],
  )
}

/** Sends a verification request to the receiver. The response is kept only by the component. */
export function useTestTask(id: string) {
  return useMutation({
    mutationFn: async () =>
      (await request<DocumentOnWire<typeof taskTestSchema>>('POST', `/tasks/${id}/actions/test`)).data.attributes,
  })
}

export const DELETION =
  'New runs will no longer call it, and undelivered requests are not sent. Results of earlier runs remain.'

/** The server deletes only a task that is attached nowhere. */
export function attachedReason({ relationships }: Task) {
  const count = relationships['workspace-tasks'].data.length
  return count === 0 ? undefined : `attached to ${counted(count, 'workspace')}: detach it first`
}
