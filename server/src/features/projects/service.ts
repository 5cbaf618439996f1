import type { Ctx } from '../../app.ts'
import type { Tx } from '../../db/db.ts'
import * as store from './store.ts'

/** Every organization has one; workspaces are made in it unless another project is named. Returns its id. */
export async function insertDefaultProject(ctx: Ctx & { db: Tx }, organizationId: string) {
  const now = ctx.now()
  const row = await store.insertProject(ctx.db, {
    id: ctx.newId('prj'),
    organization_id: organizationId,
    name: 'Default Project',
    created_at: now,
    updated_at: now,
  })
  return row.id
}
