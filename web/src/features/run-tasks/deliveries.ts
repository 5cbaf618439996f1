import type { Wire, uncountedPageOf } from '@groundstate/contract/responses'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { deliveryOfTaskSchema, taskResultSchema } from '@groundstate/contract/task-results'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { keepWithin, useChange } from '../../api/queries.ts'
import { RUN_TASKS } from './run-tasks.ts'

export type DeliveryOfTask = Wire<typeof deliveryOfTaskSchema>
type DeliveriesPage = Wire<ReturnType<typeof uncountedPageOf<typeof deliveryOfTaskSchema>>>

type Search = { status?: string | undefined; page?: number | undefined }

export function useTaskDeliveries(organization: string, taskId: string, { status, page }: Search) {
  const query = queryString({ 'filter[status]': status, 'page[number]': page })
  return useQuery({
    queryKey: [RUN_TASKS, organization, taskId, 'deliveries', query],
    queryFn: async ({ signal }) => get<DeliveriesPage>(`/tasks/${taskId}/deliveries${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

export function useRedeliver(organization: string) {
  return useChange(
    async (resultId: string) =>
      request<DocumentOnWire<typeof taskResultSchema>>('POST', `/task-results/${resultId}/actions/redeliver`),
    [RUN_TASKS, organization],
  )
}
