import type { Loader } from '../../../http/loaders.ts'
import { listReadableTaskResults } from './access.ts'
import { listDeliveriesOf, listOutcomesOf } from './list.ts'
import { taskDeliveryResource, taskOutcomeResource, taskResultResource } from './resource.ts'

/** Whoever is shown a result may read what belongs to it. */
export const taskResultLoaders: readonly Loader[] = [
  {
    type: 'task-results',
    load: async (ctx, ids) => (await listReadableTaskResults(ctx, ids)).map(taskResultResource),
  },
  {
    of: 'task-results',
    relation: 'task-result-outcomes',
    load: async (ctx, results) => {
      const ids = results.map(({ id }) => id)
      const outcomes = Map.groupBy(await listOutcomesOf(ctx, ids), (row) => row.task_result_id)
      return new Map(ids.map((id) => [id, (outcomes.get(id) ?? []).map(taskOutcomeResource)]))
    },
  },
  {
    of: 'task-results',
    relation: 'deliveries',
    load: async (ctx, results) => {
      const ids = results.map(({ id }) => id)
      const deliveries = Map.groupBy(await listDeliveriesOf(ctx, ids), (row) => row.task_result_id)
      return new Map(ids.map((id) => [id, (deliveries.get(id) ?? []).map(taskDeliveryResource)]))
    },
  },
]
