import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { containing } from '../../../db/sql.ts'
import type { EffectiveTagBinding } from '../../organizations/tags/store.ts'

/** Tag bindings of the workspaces, and those inherited from their projects; without flat tags, which have a separate API. */
export async function listEffectiveTagBindings(db: Db, workspaceIds: readonly string[]) {
  const { rows } = await sql<EffectiveTagBinding>`
    select distinct on (w.id, b.key) w.id as for_id, b.id, b.key, b.value, b.created_at, b.project_id as inherited_from
      from workspaces w
      join tag_bindings b on b.workspace_id = w.id or b.project_id = w.project_id
      left join reserved_tag_keys r on r.organization_id = w.organization_id and r.key = b.key and r.disable_overrides
     where w.id = any(${workspaceIds}) and (b.value <> '' or b.is_binding or b.project_id is not null)
     order by w.id, b.key, (b.project_id is not null) = (r.id is null)`.execute(db)
  return rows
}

/** Deletes flat tags of a workspace; bindings with a value stay. */
export async function deleteFlatTags(db: Db, workspaceId: string, keys: readonly string[]) {
  await sql`delete from tag_bindings
    where workspace_id = ${workspaceId} and value = '' and key = any(${keys})`.execute(db)
}

export async function findTag(db: Db, tagId: string) {
  const query = db.selectFrom('tag_bindings').select(['organization_id', 'key']).where('tag_id', '=', tagId)
  return query.limit(1).executeTakeFirst()
}

type TagFilter = { organizationId: string; q: string | undefined; exclude: string | undefined }
export type TagValue = { tag_id: string; key: string; value: string; workspace_count: number; project_count: number }
export type Tag = { tag_id: string; key: string; created_at: Date; instance_count: number }

/** One page of an organization's flat tags, each with the number of its workspaces that the actor may see. */
export async function listTags(db: Db, actor: Actor, { organizationId, q, exclude }: TagFilter, page: Page) {
  const excluded = sql`and not exists (select from tag_bindings x where x.workspace_id = ${exclude} and x.key = b.key
    and exists (select from workspaces w where w.id = x.workspace_id and ${visibleWorkspace(actor)}))`
  const { rows } = await sql<Tag & { total: number }>`
    select b.tag_id, b.key, min(b.created_at) as created_at, count(*) as instance_count, count(*) over () as total
      from tag_bindings b
      join workspaces w on w.id = b.workspace_id
     where b.organization_id = ${organizationId} and b.value = '' and ${visibleWorkspace(actor)}
       ${q === undefined ? sql`` : sql`and b.key ilike ${containing(q)}`}
       ${exclude === undefined ? sql`` : excluded}
     group by b.tag_id, b.key
     order by b.key
     limit ${page.size} offset ${pageOffset(page)}`.execute(db)
  return { rows, total: rows[0]?.total ?? 0 }
}

type TagValueFilter = {
  organizationId: string
  /** The actor sees all workspaces and projects of the organization. Then the index of tags suffices to count them. */
  seesAll: boolean
  q: string | undefined
}

/** One page of the keys and values that workspaces and projects have as tags, as far as the actor sees them. */
export async function listTagValues(db: Db, actor: Actor, { organizationId, seesAll, q }: TagValueFilter, page: Page) {
  const isVisible = seesAll
    ? { workspace: sql`true`, project: sql`true` }
    : { workspace: visibleWorkspace(actor), project: visibleProject(actor) }
  const bindings = seesAll
    ? sql`tag_bindings b where`
    : sql`tag_bindings b left join workspaces w on w.id = b.workspace_id left join projects p on p.id = b.project_id
       where case when w.id is null then ${isVisible.project} else ${isVisible.workspace} end and`
  const { rows } = await sql<TagValue & { total: number }>`
    with tags as (
      select b.key, b.value, count(*) as bindings, count(*) over () as total
        from ${bindings} b.organization_id = ${organizationId}
         ${q === undefined ? sql`` : sql`and (b.key ilike ${containing(q)} or b.value ilike ${containing(q)})`}
       group by b.key, b.value order by b.key, b.value limit ${page.size} offset ${pageOffset(page)}),
    of_projects as (
      select b.key, b.value, count(*) filter (where ${isVisible.project}) as projects, sum(heirs.workspaces)::bigint as heirs
        from projects p join tag_bindings b on b.project_id = p.id
        cross join lateral (
          select count(*) as workspaces from workspaces w
           where w.project_id = p.id and ${isVisible.workspace}
             and not exists (select from tag_bindings o where o.workspace_id = w.id and o.key = b.key)) heirs
       where p.organization_id = ${organizationId}
       group by b.key, b.value)
    select tags.key, tags.value, tags.total,
           (select b.tag_id from tag_bindings b
             where b.organization_id = ${organizationId} and b.key = tags.key limit 1) as tag_id,
           tags.bindings - coalesce(of_projects.projects, 0) + coalesce(of_projects.heirs, 0) as workspace_count,
           coalesce(of_projects.projects, 0) as project_count
      from tags left join of_projects using (key, value) order by key, value`.execute(db)
  return { rows, total: rows[0]?.total ?? 0 }
}

/** One page of a workspace's flat tags, each with the number of its workspaces that the actor may see. */
export async function listWorkspaceTags(
  db: Db,
  actor: Actor,
  workspaceId: string,
  { page, name }: { page: Page; name: string | undefined },
) {
  const { rows } = await sql<Tag & { total: number }>`
    select b.tag_id, b.key, b.created_at, count(*) over () as total,
           (select count(*) from tag_bindings x join workspaces w on w.id = x.workspace_id
             where x.organization_id = b.organization_id and x.key = b.key and x.value = ''
               and ${visibleWorkspace(actor)}) as instance_count
      from tag_bindings b
     where b.workspace_id = ${workspaceId} and b.value = ''
       ${name === undefined ? sql`` : sql`and b.key ilike ${containing(name)}`}
     order by b.key
     limit ${page.size} offset ${pageOffset(page)}`.execute(db)
  return { rows, total: rows[0]?.total ?? 0 }
}

/** Removes flat tags from every workspace of the organization; returns the workspaces that had one. */
export async function deleteTags(db: Db, organizationId: string, tagIds: readonly string[]) {
  return deleteTagValues(
    db,
    organizationId,
    tagIds.map((tagId) => ({ tagId, value: '' })),
  )
}

/** Removes tags with these values from every workspace of the organization; returns the workspaces that had one. */
export async function deleteTagValues(
  db: Db,
  organizationId: string,
  tags: readonly { tagId: string; value: string }[],
) {
  const { rows } = await sql<{ workspace_id: string }>`
    delete from tag_bindings b using unnest(${tags.map(({ tagId }) => tagId)}::text[], ${tags.map(({ value }) => value)}::text[]) t(id, value)
     where b.organization_id = ${organizationId} and b.workspace_id is not null and b.tag_id = t.id and b.value = t.value
    returning b.workspace_id`.execute(db)
  return [...new Set(rows.map(({ workspace_id: id }) => id))]
}
