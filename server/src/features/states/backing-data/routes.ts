import { documentOf } from '@groundstate/contract/responses'
import { softDeleteBody, stateVersionSchema } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { presentStateVersion } from '../state-versions/includes.ts'
import { SNAPSHOT_INTERVAL } from '../state-versions/service.ts'
import { changeBackingData, requireOwnedStateVersion } from './service.ts'

const ACTION = {
  access: { organization: 'owner' },
  responses: { 200: documentOf(stateVersionSchema) },
  authorise: async (ctx: Ctx, { id }: { id: string }) => requireOwnedStateVersion(ctx, id),
} as const

const SOFT_DELETE = {
  ...ACTION,
  summary: 'Soft-delete the backing data of a state version',
  audit: 'state_version soft_delete_backing_data',
  body: softDeleteBody,
} as const

const OTHERS = [
  { action: 'restore_backing_data', summary: 'Restore the soft-deleted backing data of a state version' },
  {
    action: 'permanently_delete_backing_data',
    summary: 'Permanently delete the backing data of a state version',
  },
] as const

export const backingDataRoutes: Routes = (http) => {
  http.post('/state-versions/:id/actions/soft_delete_backing_data', SOFT_DELETE, async (req) => {
    const days = req.body
    const version = await changeBackingData(req.ctx, req.subject, { action: 'soft_delete_backing_data', days })
    const resource = await presentStateVersion(req.ctx, version, { deleteOlderThanDays: days })
    return { ...ok(resource), headers: SNAPSHOT_INTERVAL }
  })
  for (const { action, summary } of OTHERS) {
    const audit = `state_version ${action}` as const
    http.post(`/state-versions/:id/actions/${action}`, { ...ACTION, summary, audit }, async (req) => {
      const version = await changeBackingData(req.ctx, req.subject, { action })
      return { ...ok(await presentStateVersion(req.ctx, version)), headers: SNAPSHOT_INTERVAL }
    })
  }
}
