import type { InstalledParts } from '@groundstate/contract/agent'
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { pipeline } from '../../../db/pipeline.ts'

/** The version is null for a provider that is known only from the state. Workspaces that the actor may not see have no name. */
export type Use = { workspace_id: string; workspace_name: string | null; version: string | null; used_at: Date }

/** The workspaces that use a module. */
export async function listModuleUses(db: Db, actor: Actor, moduleId: string): Promise<Use[]> {
  const uses = sql`select workspace_id, version, used_at from registry_module_uses where registry_module_id = ${moduleId}`
  return listUses(db, actor, uses)
}

type Provider = { id: string; organization_id: string; registry_name: string; name: string }

/** The workspaces that use a provider: by their latest run, else by their state, whose providers have one of the `hosts`. */
export async function listProviderUses(
  db: Db,
  actor: Actor,
  { provider, hosts }: { provider: Provider; hosts: readonly string[] },
): Promise<Use[]> {
  if (provider.registry_name !== 'private') return []
  const recorded = sql`from registry_provider_uses u where u.registry_provider_id = ${provider.id}`
  const uses = sql`select u.workspace_id, u.version, u.used_at ${recorded}
    union all
    select s.workspace_id, null, max(v.created_at) from (${stateUses(provider.organization_id, hosts)}) s
      join state_versions v on v.id = s.current_state_version_id
     where s.name = lower(${provider.name}) and not exists (select ${recorded} and u.workspace_id = s.workspace_id)
     group by s.workspace_id`
  return listUses(db, actor, uses)
}

async function listUses(db: Db, actor: Actor, uses: RawBuilder<unknown>): Promise<Use[]> {
  const { rows } = await sql<Use>`
    select u.workspace_id, case when ${visibleWorkspace(actor)} then w.name end as workspace_name, u.version, u.used_at
      from (${uses}) u join workspaces w on w.id = u.workspace_id order by w.name, u.version`.execute(db)
  return rows
}

/** The names of providers of an organization's registry in current states: runs on users' machines report nothing else. */
function stateUses(organizationId: string, hosts: readonly string[]) {
  return sql`select w.id as workspace_id, split_part(address, '/', 3) as name, w.current_state_version_id
    from organizations o join workspaces w on w.organization_id = o.id and w.state_providers <> '{}'
    cross join lateral unnest(w.state_providers) address
   where o.id = ${organizationId}
     and split_part(address, '/', 1) = any(${hosts}) and split_part(address, '/', 2) = lower(o.name)`
}

/** The number of workspaces that use each provider of an organization; none for those that nobody uses. */
export async function countProviderUses(
  db: Db,
  { organizationId, ids, hosts }: { organizationId: string; ids: readonly string[]; hosts: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ id: string; total: number }>`
    select used.id, count(*) as total from (
      select registry_provider_id as id, workspace_id from registry_provider_uses
       where registry_provider_id = any(${ids})
      union
      select p.id, s.workspace_id from registry_providers p
        join (${stateUses(organizationId, hosts)}) s on s.name = lower(p.name)
       where p.id = any(${ids}) and p.registry_name = 'private') used
     group by used.id`.execute(db)
  return new Map(rows.map(({ id, total }) => [id, total]))
}

const MODULES = {
  parts: sql.table('registry_modules'),
  uses: sql.table('registry_module_uses'),
  id: sql.ref('registry_module_id'),
  address: sql`concat_ws('/', o.name, p.name, p.provider)`,
}
const PROVIDERS = {
  parts: sql.table('registry_providers'),
  uses: sql.table('registry_provider_uses'),
  id: sql.ref('registry_provider_id'),
  address: sql`concat_ws('/', o.name, p.name)`,
}

type Replacement = { installed: InstalledParts; now: Date }

/** Replaces the uses of a workspace by those that are installed and in the registry of its organization. */
export async function replaceUses(
  tx: Tx,
  workspace: { id: string; organizationId: string },
  { installed, now }: Replacement,
) {
  const kinds = [
    { ...MODULES, found: installed.modules },
    { ...PROVIDERS, found: installed.providers },
  ].map(({ found, ...kind }) => {
    const own = sql`select distinct p.id, found.version
      from unnest(${found.map(({ address }) => address)}::text[], ${found.map(({ version }) => version)}::text[])
           as found(address, version)
      join organizations o on o.id = ${workspace.organizationId}
      join ${kind.parts} p on p.organization_id = o.id and p.registry_name = 'private'
       and lower(${kind.address}) = lower(found.address)`
    return { ...kind, own, earlier: sql`${kind.uses} u where u.workspace_id = ${workspace.id}` }
  })
  // A deletion locks the part and then deletes its uses, so they are locked in the same order here.
  const locks = kinds.map(
    ({ parts, id, own, earlier }) => sql`select from ${parts} where id in (select own.id from (${own}) own
      union select u.${id} from ${earlier}) order by id for key share`,
  )
  const writes = kinds.map(
    ({ uses, id, own, earlier }) => sql`with own as (${own}),
      gone as (delete from ${earlier} and not exists (
        select from own where own.id = u.${id} and own.version = u.version))
      insert into ${uses} (workspace_id, ${id}, version, used_at)
      select ${workspace.id}, own.id, own.version, ${now} from own
      on conflict (workspace_id, ${id}, version) do update set used_at = excluded.used_at`,
  )
  await pipeline(tx, [...locks, ...writes])
}
