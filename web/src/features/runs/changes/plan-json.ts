import type { Wire } from '@groundstate/contract/answers'
import type { runSchema } from '@groundstate/contract/runs'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get } from '../../../api/client.ts'
import { destroyedAddresses, type PlanJson, planModel } from './plan-model.ts'

/** The plan in the engine's JSON without sensitive values; null when there is none. It never changes once it is there. */
export function usePlanModel(planId: string | undefined, isOver: boolean) {
  return useQuery({
    queryKey: ['plan-models', planId],
    enabled: planId !== undefined && isOver,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    // What is read again is the same: comparing megabytes of it would take longer than drawing it.
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const json = await get<PlanJson | undefined>(`/plans/${planId}/json-output-redacted`, signal)
      return json === undefined ? null : planModel(json)
    },
  })
}

/** The addresses of what the run's plan destroys or replaces; undefined until they are known. */
export function useDestroyedResources(run: Wire<typeof runSchema>): readonly string[] | undefined {
  const planId = run.relationships.plan?.data?.id
  const isPlanned = PLANNED.some((name) => run.attributes['status-timestamps'][name] !== undefined)
  const { data } = usePlanModel(planId, isPlanned)
  return useMemo(() => (data ? destroyedAddresses(data) : undefined), [data])
}
const PLANNED = ['planned-at', 'planned-and-finished-at', 'planned-and-saved-at'] as const
