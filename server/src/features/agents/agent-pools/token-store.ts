import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

export async function listTokens(db: Db, poolId: string, page: Page) {
  const query = db
    .selectFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where('kind', '=', sql.lit('agent' as const))
  const rows = await query
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const count = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total: count.total }
}

export async function listTokenIds(db: Db, poolId: string) {
  const rows = await db.selectFrom('tokens').select('id').where('agent_pool_id', '=', poolId).execute()
  return rows.map(({ id }) => id)
}

/** The user as whom the tokens of the owners team act. */
export async function findOwnersAccount(db: Db, organizationId: string) {
  const row = await db
    .selectFrom('teams')
    .select('service_user_id')
    .where('organization_id', '=', organizationId)
    .where('is_owners', '=', sql.lit(true))
    .executeTakeFirst()
  return row?.service_user_id
}

/** Deletes tokens of built-in agents that were last used before `before`. */
export async function deleteIdleBuiltInTokens(db: Db, { poolId, before }: { poolId: string; before: Date }) {
  await db
    .deleteFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where((eb) => eb(eb.fn.coalesce('last_used_at', 'created_at'), '<', before))
    .execute()
}
