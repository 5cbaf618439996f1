import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskDeliverySchema, taskResultOutcomeSchema, taskResultSchema } from '@groundstate/contract/task-results'
import { useMutation, useQuery } from '@tanstack/react-query'
import { ApiError, apiPath, get, request } from '../../api/client.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { useRefresh } from './run.ts'

export type TaskOutcome = Pick<Wire<typeof taskResultOutcomeSchema>, 'id' | 'attributes' | 'links'>
export type TaskDelivery = Wire<typeof taskDeliverySchema>

/** The outcomes of a task result, up to the largest page. */
export function useTaskOutcomes(resultId: string) {
  return useQuery({
    queryKey: ['task-results', resultId, 'outcomes'],
    queryFn: async () =>
      get<PageOnWire<typeof taskResultOutcomeSchema>>(`/task-results/${resultId}/outcomes?page[size]=100`),
  })
}

/** The Markdown of an outcome, which may have several MB: read when somebody opens it. */
export function useOutcomeBody(outcome: TaskOutcome, isWanted: boolean) {
  return useQuery({
    queryKey: ['task-result-outcomes', outcome.id, 'body'],
    enabled: isWanted && outcome.links.body !== undefined,
    // No change names an outcome: it is part of its task result.
    meta: { alsoAbout: ['task-results'] },
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch(apiPath(`/task-result-outcomes/${outcome.id}/body`), { signal })
      if (!response.ok) throw new ApiError(response.status, [])
      return response.text()
    },
  })
}

/** The attempts at the request of a task result, the oldest first. */
export function useTaskDeliveries(resultId: string, isWanted: boolean) {
  return useQuery({
    queryKey: ['deliveries', resultId],
    enabled: isWanted,
    queryFn: async () =>
      get<PageOnWire<typeof taskDeliverySchema>>(`/task-results/${resultId}/deliveries?page[size]=100`),
  })
}

/** Sends the request of a task result once more. */
export function useRedeliver(runId: string, resultId: string) {
  const refresh = useRefresh(runId)
  return useMutation({
    mutationFn: async () =>
      request<DocumentOnWire<typeof taskResultSchema>>('POST', `/task-results/${resultId}/actions/redeliver`),
    onSuccess: () => toast({ text: 'The request is sent once more' }),
    onSettled: refresh,
  })
}
