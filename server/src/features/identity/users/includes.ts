import type { Ctx } from '../../../app.ts'
import type { Loader } from '../../../http/loaders.ts'
import { userResource } from './resource.ts'
import { listUsersByIds } from './store.ts'

export const userLoaders: readonly Loader[] = [{ type: 'users', load: includedUsers }]

/**
 * The users with those ids, in one query. Null ids and deleted users are left out. It checks no permission: an actor
 * that may read a resource may read the name of its creator.
 */
export async function includedUsers(ctx: Ctx, ids: readonly (string | null)[]) {
  const rows = await listUsersByIds(
    ctx.db,
    ids.filter((id) => id !== null),
  )
  return rows.map((row) => userResource(row, ctx))
}
