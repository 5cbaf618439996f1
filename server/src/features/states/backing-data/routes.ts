import { documentOf } from '@groundstate/contract/responses'
import { softDeleteBody, stateVersionSchema } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import type { StateVersion } from '../state-versions/access.ts'
import { presentStateVersion } from '../state-versions/includes.ts'
import { SNAPSHOT_INTERVAL } from '../state-versions/service.ts'
import {
  permanentlyDeleteBackingData,
  requireOwnedStateVersion,
  restoreBackingData,
  softDeleteBackingData,
} from './service.ts'

const action = {
  access: { organization: 'owner' },
  responses: { 200: documentOf(stateVersionSchema) },
  authorise: async (ctx: Ctx, { id }: { id: string }) => requireOwnedStateVersion(ctx, id),
} as const

const softDelete = {
  ...action,
  summary: 'Soft-delete the backing data of a state version',
  audit: 'state_version soft_delete_backing_data',
  body: softDeleteBody,
} as const
const restore = {
  ...action,
  summary: 'Restore the soft-deleted backing data of a state version',
  audit: 'state_version restore_backing_data',
} as const
const permanentlyDelete = {
  ...action,
  summary: 'Permanently delete the backing data of a state version',
  audit: 'state_version permanently_delete_backing_data',
} as const

export const backingDataRoutes: Routes = (http) => {
  http.post('/state-versions/:id/actions/soft_delete_backing_data', softDelete, async (req) => {
    const days = req.body
    const version = await softDeleteBackingData(req.ctx, req.subject, days)
    return shown(req.ctx, version, { deleteOlderThanDays: days })
  })

  http.post('/state-versions/:id/actions/restore_backing_data', restore, async (req) => {
    return shown(req.ctx, await restoreBackingData(req.ctx, req.subject))
  })

  http.post('/state-versions/:id/actions/permanently_delete_backing_data', permanentlyDelete, async (req) => {
    return shown(req.ctx, await permanentlyDeleteBackingData(req.ctx, req.subject))
  })
}

async function shown(ctx: Ctx, version: StateVersion, options?: { deleteOlderThanDays: number | undefined }) {
  return { ...ok(await presentStateVersion(ctx, version, options)), headers: SNAPSHOT_INTERVAL }
}
