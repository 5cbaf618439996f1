import { documentOf } from '@groundstate/contract/responses'
import { stateVersionDiffSchema } from '@groundstate/contract/state-version-diffs'
import { z } from 'zod'
import { invalidParameter } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { lastText } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import { compareStateVersions, stateDiffResource } from './service.ts'

const compare = {
  summary: 'Compare two state versions',
  access: { workspace: 'state-versions:read' },
  responses: { 200: documentOf(stateVersionDiffSchema) },
  query: {
    from: z
      .preprocess(
        (value) => (value === undefined ? undefined : (lastText(value) ?? '')),
        z.string().min(1, 'is empty; it must be the id of a state version').optional(),
      )
      .describe('the id of the earlier version; by default the version before'),
  },
} as const

export const stateVersionDiffRoutes: Routes = (http) => {
  http.get('/state-versions/:id/diff', compare, async (req) => {
    const unknown = Object.keys(req.raw.query as object).find((name) => name !== 'from')
    if (unknown !== undefined) {
      throw invalidParameter(`unknown parameter ${unknown}: the only one is from, the id of a state version`, unknown)
    }
    return ok(stateDiffResource(await compareStateVersions(req.ctx, req.params.id, req.query.from)))
  })
}
