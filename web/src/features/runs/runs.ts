import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/answers'
import type { applySchema } from '@groundstate/contract/applies'
import type { phaseAttributes, planSchema } from '@groundstate/contract/plans'
import type { Stage } from '@groundstate/contract/run-tasks'
import type { runSchema } from '@groundstate/contract/runs'
import type { taskResultOutcomeSchema, taskResultSchema } from '@groundstate/contract/task-results'
import type { taskStageSchema } from '@groundstate/contract/task-stages'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import { isFinal } from './run-status.tsx'

type RunAttributes = Wire<typeof runSchema>['attributes']
/** The attributes that explain why a run ended. */
export type RunEnding = Pick<RunAttributes, 'status' | 'plan-only' | 'error-message'>
/** The displayed part of a plan or an apply. */
export type PhaseOnWire = {
  id: string
  attributes: Pick<Wire<typeof planSchema>['attributes'], keyof typeof phaseAttributes>
}
export type TaskResultAttributes = Pick<
  Wire<typeof taskResultSchema>['attributes'],
  | 'status'
  | 'message'
  | 'url'
  | 'task-name'
  | 'workspace-task-enforcement-level'
  | 'task-result-outcomes-count'
  | 'updated-at'
>
export type TaskOutcome = Pick<Wire<typeof taskResultOutcomeSchema>, 'id' | 'attributes' | 'links'>
/** A stage of a run with the results of its tasks. */
export type TaskStage = {
  name: Stage
  status: Wire<typeof taskStageSchema>['attributes']['status']
  results: readonly { id: string; attributes: TaskResultAttributes }[]
}

const POLL_MS = 1500

export function useRuns(workspaceId: string | undefined, page: number) {
  return useQuery({
    queryKey: ['runs', workspaceId, page],
    enabled: workspaceId !== undefined,
    queryFn: async () =>
      get<PageOnWire<typeof runSchema>>(`/workspaces/${workspaceId}/runs?page[size]=20&page[number]=${page}`),
    refetchInterval: (query) =>
      query.state.data?.data.some((run) => !isFinal(run.attributes.status)) ? POLL_MS : 15_000,
  })
}

/** A run with its phases and stages, polled until it ends. */
export function useRun(id: string) {
  return useQuery({
    queryKey: ['run', id],
    queryFn: async () => {
      const run = await get<DocumentOnWire<typeof runSchema, typeof planSchema | typeof applySchema>>(
        `/runs/${id}?include=plan,apply`,
      )
      const stages = run.data.relationships['task-stages'].data
      // Read after the run, not in parallel, so that the data are final once the run is.
      return { ...run, stages: stages.length > 0 ? await getStages(id) : [] }
    },
    refetchInterval: (query) =>
      query.state.data && isFinal(query.state.data.data.attributes.status) ? false : POLL_MS,
  })
}

async function getStages(runId: string): Promise<TaskStage[]> {
  const { data, included = [] } = await get<PageOnWire<typeof taskStageSchema, typeof taskResultSchema>>(
    `/runs/${runId}/task-stages?include=task_results`,
  )
  return data.map(({ attributes, relationships }) => {
    const ids = new Set(relationships['task-results'].data.map((result) => result.id))
    return { name: attributes.stage, status: attributes.status, results: included.filter(({ id }) => ids.has(id)) }
  })
}

/** The outcomes of a task result, up to the largest page. `changedAt` is when the result was changed last. */
export function useTaskOutcomes(resultId: string, changedAt: string) {
  return useQuery({
    queryKey: ['task-outcomes', resultId, changedAt],
    queryFn: async () =>
      get<PageOnWire<typeof taskResultOutcomeSchema>>(`/task-results/${resultId}/outcomes?page[size]=100`),
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
