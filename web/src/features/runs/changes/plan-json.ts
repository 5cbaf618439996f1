import type { Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError, get } from '../../../api/client.ts'
import { isPassing } from '../../../api/queries.ts'
import { type PlanJson, destroyedAddresses, planModel } from './plan-model.ts'

/** The plan in the engine's JSON without sensitive values; null when there is none. It never changes once it is there. */
export function usePlanModel(planId: string | undefined, isOver: boolean) {
  return useQuery({
    queryKey: ['plan-models', planId],
    enabled: planId !== undefined && isOver,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    retry: (failures, error) => isPassing(error) && (isOwed(error) || failures < 3),
    // What is read again is the same: comparing megabytes of it would take longer than drawing it.
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const json = await get<PlanJson | undefined>(`/plans/${planId}/json-output-redacted`, signal)
      return json === undefined ? null : planModel(json)
    },
  })
}

/** Whether the plan is still to come: a run that applies by itself begins its apply before its agent has sent it. */
export function isOwed(error: Error | null) {
  return error instanceof ApiError && error.status === 503
}

/** Why the plan can't be had any more, in the words of the server; undefined for any other error. */
export function whyLost(error: Error | null) {
  return error instanceof ApiError && error.status === 422 ? error.message : undefined
}

/** The addresses of what the run's plan destroys or replaces; undefined until they are known. */
export function useDestroyedResources(run: Wire<typeof runSchema>): readonly string[] | undefined {
  const planId = run.relationships.plan?.data?.id
  const isPlanned = run.attributes['status-timestamps']['planned-at'] !== undefined
  const { data } = usePlanModel(planId, isPlanned)
  return useMemo(() => (data ? destroyedAddresses(data) : undefined), [data])
}
