import type { Loader } from '../../../http/loaders.ts'
import { variableResource } from '../variables/resource.ts'
import { listVariablesOfSets } from '../variables/store.ts'

export const variableSetLoaders: readonly Loader[] = [
  {
    of: 'varsets',
    relation: 'vars',
    load: async (ctx, sets) => {
      const ids = sets.map(({ id }) => id)
      const variables = Map.groupBy(await listVariablesOfSets(ctx.db, ids), (row) => row.variable_set_id)
      return new Map(ids.map((id) => [id, (variables.get(id) ?? []).map((row) => variableResource(row))]))
    },
  },
]
