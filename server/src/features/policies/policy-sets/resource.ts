import type { AppliedPolicySetResource, PolicySetResource } from '@groundstate/contract/policy-sets'
import { repositoryAttributes } from '../../vcs/repositories/resource.ts'
import type { PolicySet } from './access.ts'
import type { AppliedPolicySetRow, MatchingSelector } from './scope-store.ts'

export function policySetResource(set: PolicySet): PolicySetResource {
  const all = <const Type extends string>(ids: readonly string[], type: Type) => ({
    data: ids.map((id) => ({ id, type })),
  })
  const version = (id: string | null) => ({ data: id === null ? null : { id, type: 'policy-set-versions' as const } })
  const canUpdate = set.can.has('policies:manage')
  return {
    id: set.id,
    type: 'policy-sets',
    attributes: {
      name: set.name,
      description: set.description,
      kind: 'opa',
      global: set.is_global,
      overridable: set.overridable,
      'agent-enabled': true,
      'policy-tool-version': set.policy_tool_version,
      'policies-path': set.policies_path || null,
      'policy-update-patterns': set.policy_update_patterns,
      'tag-selectors': set.tag_selectors.map((selector) => ({
        'tag-key': selector.key,
        'tag-value': selector.value,
        'is-exclude': selector.is_exclusion,
      })),
      'vcs-repo': repositoryAttribute(set),
      versioned: set.is_versioned,
      'policy-count': set.is_versioned ? set.version_policy_count : set.policy_ids.length,
      'workspace-count': set.workspace_ids.length,
      'workspace-exclusion-count': set.excluded_workspace_ids.length,
      'project-count': set.project_ids.length,
      'project-exclusion-count': set.excluded_project_ids.length,
      'created-at': set.created_at,
      'updated-at': set.updated_at,
      permissions: { 'can-update': canUpdate },
    },
    relationships: {
      organization: { data: { id: set.organization_name, type: 'organizations' } },
      policies: all(set.policy_ids, 'policies'),
      workspaces: all(set.workspace_ids, 'workspaces'),
      'workspace-exclusions': all(set.excluded_workspace_ids, 'workspaces'),
      projects: all(set.project_ids, 'projects'),
      'project-exclusions': all(set.excluded_project_ids, 'projects'),
      'current-version': version(set.current_version_id),
      'newest-version': version(set.newest_version_id),
    },
    links: { self: `/api/v2/policy-sets/${set.id}` },
  }
}

function repositoryAttribute({ repository, ...set }: PolicySet): PolicySetResource['attributes']['vcs-repo'] {
  if (!repository) return null
  return {
    ...repositoryAttributes(repository, set.can.has('policies:manage') ? set.webhook_url : null),
    branch: set.vcs_branch ?? '',
    'ingress-submodules': set.vcs_submodules,
    tags: false,
    'tags-regex': null,
  }
}

type Reason = AppliedPolicySetResource['attributes']['reasons'][number]

export function appliedPolicySetResource(row: AppliedPolicySetRow): AppliedPolicySetResource {
  const reasons = (
    is: Record<Exclude<Reason['scope'], 'tag'>, boolean>,
    tags: readonly MatchingSelector[],
  ): Reason[] => [
    ...(['organization', 'project', 'workspace'] as const)
      .filter((scope) => is[scope])
      .map((scope) => ({ scope, 'tag-key': null, 'tag-value': null })),
    ...tags.map(({ key, value }) => ({ scope: 'tag' as const, 'tag-key': key, 'tag-value': value })),
  ]
  const exclusions = reasons(
    { organization: false, project: row.excluded_by_project, workspace: row.excluded_by_workspace },
    row.excluded_by_tags,
  )
  return {
    id: row.id,
    type: 'applied-policy-sets',
    attributes: {
      name: row.name,
      description: row.description,
      status: exclusions.length > 0 ? 'excluded' : row.has_policies ? 'applied' : 'empty',
      overridable: row.overridable,
      'mandatory-count': row.mandatory,
      'advisory-count': row.advisory,
      reasons: reasons(
        { organization: row.is_global, project: row.by_project, workspace: row.by_workspace },
        row.by_tags,
      ),
      exclusions,
    },
    relationships: { 'policy-set': { data: { id: row.id, type: 'policy-sets' } } },
  }
}
