import { type RawBuilder, sql } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'

/** A value, or an expression of the outer query. */
type Text = string | RawBuilder<string>
export type InProject = { id: Text; organization_id: Text; project_id: Text }

export type EffectivePolicySet = {
  id: string
  name: string
  description: string
  overridable: boolean
  policy_tool_version: string
  is_versioned: boolean
  current_version_id: string | null
  policies_path: string
}

/**
 * Conditions by which sets, as `s`, apply to the runs of a workspace: global ones, and those attached to the workspace, to its project or by a
 * tag, unless an exclusion names the workspace, its project or a tag. Sets without policies do not apply.
 */
function scopeOf(workspace: InProject) {
  const attached = (table: string, column: string, id: Text, isExclusion: boolean) =>
    sql<boolean>`exists (select from ${sql.table(table)} x where x.policy_set_id = s.id and x.${sql.ref(column)} = ${id}
      and x.is_exclusion = ${sql.lit(isExclusion)})`
  const isReserved = sql`exists (select from reserved_tag_keys r where r.organization_id = ${workspace.organization_id}
    and r.key = b.key and r.disable_overrides)`
  const has = (column: string, id: Text) =>
    sql`exists (select from tag_bindings other where other.${sql.ref(column)} = ${id} and other.key = b.key)`
  // As for effective tag bindings: the workspace's own tags take precedence over those of its project, unless the key is reserved.
  const selectors = (isExclusion: boolean) =>
    sql`from policy_set_tag_selectors t join tag_bindings b on b.key = t.key
      and (t.value is null or b.value = t.value)
      where t.policy_set_id = s.id and t.is_exclusion = ${sql.lit(isExclusion)}
        and ((b.workspace_id = ${workspace.id} and not (${isReserved} and ${has('project_id', workspace.project_id)}))
          or (b.project_id = ${workspace.project_id} and (${isReserved} or not ${has('workspace_id', workspace.id)})))`
  const named = (isExclusion: boolean) => {
    const byWorkspace = attached('policy_set_workspaces', 'workspace_id', workspace.id, isExclusion)
    const byProject = attached('policy_set_projects', 'project_id', workspace.project_id, isExclusion)
    const matching = selectors(isExclusion)
    return {
      byWorkspace,
      byProject,
      matching,
      any: sql<boolean>`(${byWorkspace} or ${byProject} or exists (select ${matching}))`,
    }
  }
  const inclusion = named(false)
  return {
    hasPolicies: sql<boolean>`(case when s.is_versioned then s.current_version_id is not null
      else exists (select from policy_set_policies x where x.policy_set_id = s.id) end)`,
    inclusion,
    exclusion: named(true),
    isSelected: sql<boolean>`(s.is_global or ${inclusion.any})`,
  }
}

/** Query for the sets that apply to a workspace's runs. */
export function selectEffectivePolicySets(db: Db, workspace: InProject) {
  return selectScopedPolicySets(db, workspace).where(scopeOf(workspace).hasPolicies)
}

/** As `selectEffectivePolicySets`, also those without policies. */
export function selectScopedPolicySets(db: Db, workspace: InProject) {
  const { isSelected, exclusion } = scopeOf(workspace)
  return db
    .selectFrom('policy_sets as s')
    .select(['s.id', 's.name', 's.description', 's.overridable', 's.policy_tool_version', 's.is_versioned'])
    .select(['s.current_version_id', 's.policies_path'])
    .where(sql<boolean>`s.organization_id = ${workspace.organization_id}`)
    .where(isSelected)
    .where(sql<boolean>`not ${exclusion.any}`)
    .orderBy('s.name')
    .orderBy('s.id')
}

export type MatchingSelector = { key: string; value: string | null }
export type AppliedPolicySetRow = Awaited<ReturnType<typeof listAppliedPolicySets>>['rows'][number]

/** The sets that select a workspace, also those that an exclusion or the lack of policies keeps from it, and why. */
export async function listAppliedPolicySets(db: Db, workspace: InProject, page: Page) {
  const { hasPolicies, isSelected, inclusion, exclusion } = scopeOf(workspace)
  const selected = db
    .selectFrom('policy_sets as s')
    .where(sql<boolean>`s.organization_id = ${workspace.organization_id}`)
    .where(isSelected)
  const matching = (from: typeof inclusion.matching) =>
    sql<MatchingSelector[]>`coalesce((select jsonb_agg(m.selector order by m.selector) from (
      select distinct jsonb_build_object('key', t.key, 'value', t.value) as selector ${from}) m), '[]')`
  const list = selected
    .select(['s.id', 's.name', 's.description', 's.overridable', 's.is_global', hasPolicies.as('has_policies')])
    .select([
      inclusion.byWorkspace.as('by_workspace'),
      inclusion.byProject.as('by_project'),
      matching(inclusion.matching).as('by_tags'),
      exclusion.byWorkspace.as('excluded_by_workspace'),
      exclusion.byProject.as('excluded_by_project'),
      matching(exclusion.matching).as('excluded_by_tags'),
    ])
    .select([policiesOf('mandatory').as('mandatory'), policiesOf('advisory').as('advisory')])
    .orderBy('s.name')
    .orderBy('s.id')
  return readPaged(page, list, selected)
}

function policiesOf(level: 'mandatory' | 'advisory') {
  return sql<number>`(case when s.is_versioned
    then (select count(*) from policy_set_version_policies p
      where p.policy_set_version_id = s.current_version_id and p.enforcement_level = ${sql.lit(level)})
    else (select count(*) from policy_set_policies x join policies p on p.id = x.policy_id
      where x.policy_set_id = s.id and p.enforcement_level = ${sql.lit(level)}) end)`
}
