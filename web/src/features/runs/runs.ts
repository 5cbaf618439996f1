import type { Stage } from '@groundstate/contract/run-tasks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Document, get, type ListDocument, request, type Resource } from '../../api/client.ts'
import { isFinal } from './run-status.tsx'

export type RunAttributes = {
  status: string
  message: string | null
  'error-message': string | null
  'created-at': string
  'has-changes': boolean
  'is-destroy': boolean
  'plan-only': boolean
  'waiting-reason'?: string | null
  actions: Record<'is-cancelable' | 'is-confirmable' | 'is-discardable' | 'is-force-cancelable', boolean>
  permissions: Record<string, boolean>
}
export type PhaseAttributes = {
  status: string
  'status-timestamps': Record<string, string>
  'log-read-url': string | null
  'resource-additions': number | null
  'resource-changes': number | null
  'resource-destructions': number | null
}
export type TaskResultAttributes = {
  status: string
  message: string
  url: string
  'task-name': string
  'workspace-task-enforcement-level': string
}
/** A stage of a run with the results of its tasks. */
export type TaskStage = { name: Stage; status: string; results: readonly Resource<TaskResultAttributes>[] }

const POLL_MS = 1500

export function useRuns(workspaceId: string | undefined, page: number) {
  return useQuery({
    queryKey: ['runs', workspaceId, page],
    enabled: workspaceId !== undefined,
    queryFn: async () =>
      get<ListDocument<RunAttributes>>(`/workspaces/${workspaceId}/runs?page[size]=20&page[number]=${page}`),
    refetchInterval: (query) =>
      query.state.data?.data.some((run) => !isFinal(run.attributes.status)) ? POLL_MS : 15_000,
  })
}

/** A run with its phases and stages, followed to its end. */
export function useRun(id: string) {
  return useQuery({
    queryKey: ['run', id],
    queryFn: async () => {
      const run = await get<Document<RunAttributes>>(`/runs/${id}?include=plan,apply`)
      const stages = run.data.relationships?.['task-stages']?.data
      // After the run, never beside it: what is read with the last answer about a run is then the last word too.
      return { ...run, stages: Array.isArray(stages) && stages.length > 0 ? await getStages(id) : [] }
    },
    refetchInterval: (query) =>
      query.state.data && isFinal(query.state.data.data.attributes.status) ? false : POLL_MS,
  })
}

async function getStages(runId: string): Promise<TaskStage[]> {
  const { data, included = [] } = await get<ListDocument<{ stage: Stage; status: string }>>(
    `/runs/${runId}/task-stages?include=task_results`,
  )
  const results = included.filter((item) => item.type === 'task-results') as Resource<TaskResultAttributes>[]
  return data.map(({ attributes, relationships }) => {
    const named = relationships?.['task-results']?.data
    const ids = new Set(Array.isArray(named) ? named.map((result) => result.id) : [])
    return { name: attributes.stage, status: attributes.status, results: results.filter(({ id }) => ids.has(id)) }
  })
}

export type RunAction = 'apply' | 'discard' | 'cancel' | 'force-cancel'

export function useRunAction(id: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (action: RunAction) => request('POST', `/runs/${id}/actions/${action}`, {}),
    onSettled: async () => queries.invalidateQueries({ queryKey: ['run', id] }),
  })
}
