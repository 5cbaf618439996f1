import { documentOf } from '@groundstate/contract/answers'
import { stateVersionDiffSchema } from '@groundstate/contract/state-version-diffs'
import { z } from 'zod'
import { invalidParameter } from '../../../errors.ts'
import { ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { compareStateVersions } from './compare.ts'
import { stateDiffResource } from './resource.ts'

const compare = {
  summary: 'Compare two state versions',
  answers: { 200: documentOf(stateVersionDiffSchema) },
  query: { from: z.string().describe('the id of the earlier version; by default the version before') },
}

export const stateVersionDiffRoutes: Routes = (http) => {
  http.get('/state-versions/:id/diff', compare, async (req) => {
    return ok(stateDiffResource(await compareStateVersions(req.ctx, req.params.id, readFrom(req.query))))
  })
}

function readFrom(query: Record<string, unknown>) {
  const unknown = Object.keys(query).find((name) => name !== 'from')
  if (unknown !== undefined) {
    throw invalidParameter(`${unknown} is no parameter of a diff: it takes from, the id of a state version`, unknown)
  }
  const from = readText(query, 'from')
  if (from === undefined && 'from' in query) {
    throw invalidParameter('from is empty, it must be the id of a state version', 'from')
  }
  return from
}
