import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import type { ModuleUse } from '../registry-modules/store.ts'

/** The workspaces whose latest run installed a provider, by its address; those that the actor may not see have no name. */
export async function listProviderUses(db: Db, actor: Actor, address: string) {
  const { rows } = await sql<ModuleUse>`
    select u.workspace_id, case when ${visibleWorkspace(actor)} then w.name end as workspace_name, u.version, u.used_at
      from registry_provider_uses u join workspaces w on w.id = u.workspace_id
      where u.source = lower(${address}) order by w.name, u.version`.execute(db)
  return rows
}
