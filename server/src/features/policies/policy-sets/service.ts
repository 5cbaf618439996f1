import type { CreatePolicySet, UpdatePolicySet } from '@groundstate/contract/policy-sets'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { messageOf } from '../../../error-code.ts'
import { invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { putRepository } from '../../vcs/repositories/service.ts'
import { triggerPattern } from '../../vcs/repositories/trigger-pattern.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { checkToolVersion } from '../opa-versions/service.ts'
import {
  type PolicySet,
  permittedPolicySet,
  policySetAudit,
  policySetConnected,
  policySetDisconnected,
  requirePolicySet,
} from './access.ts'
import * as scopeStore from './scope-store.ts'
import { clearAttachments, replaceSetLists, replaceTagSelectors } from './scope.ts'
import * as store from './store.ts'

const REPO = '/data/attributes/vcs-repo'

function taken(name: string) {
  return { constraint: 'policy_sets_name_key', detail: `Name ${name} has already been taken` }
}

export async function createPolicySet(ctx: Ctx, organizationName: string, input: CreatePolicySet) {
  const organization = await requireOrganization(ctx, organizationName, 'policies:manage')
  const { attributes, relationships } = input
  const repo = attributes['vcs-repo']
  await checkSettings(ctx, attributes)
  const now = ctx.now()
  const id = ctx.newId('polset')
  const columns = {
    id,
    organization_id: organization.id,
    name: attributes.name,
    description: attributes.description ?? '',
    is_global: attributes.global ?? false,
    overridable: attributes.overridable ?? false,
    policy_tool_version: attributes['policy-tool-version'] || 'latest',
    policies_path: attributes['policies-path'] ?? '',
    policy_update_patterns: attributes['policy-update-patterns'] ?? [],
    is_versioned: Boolean(repo),
    vcs_branch: repo?.branch || null,
    vcs_submodules: repo?.['ingress-submodules'] ?? false,
    created_at: now,
    updated_at: now,
  }
  await rejectTakenName(taken(columns.name), async () =>
    transact(ctx, async (ctx) => {
      const repositoryId = repo ? await putSetRepository(ctx, organization.id, repo) : null
      await store.insertPolicySet(ctx.db, { ...columns, repository_id: repositoryId })
      await replaceSetLists(ctx, columns, relationships)
      await replaceTagSelectors(ctx, columns, attributes['tag-selectors'] ?? [])
      await recordAudit(ctx, policySetAudit(columns, 'create', { repository: repo?.identifier }))
      if (repositoryId !== null) await raise(ctx, policySetConnected, { setId: id })
    }),
  )
  return requirePolicySet(ctx, id, 'policies:read')
}

async function checkSettings(ctx: Ctx, attributes: UpdatePolicySet['attributes']) {
  if (attributes['policy-tool-version']) await checkToolVersion(ctx, attributes['policy-tool-version'])
  for (const [index, pattern] of (attributes['policy-update-patterns'] ?? []).entries()) {
    try {
      triggerPattern(pattern)
    } catch (error) {
      const pointer = `/data/attributes/policy-update-patterns/${index}`
      throw invalid(`${JSON.stringify(pattern)} is not a valid pattern: ${messageOf(error)}`, pointer)
    }
  }
}

type RepoInput = NonNullable<CreatePolicySet['attributes']['vcs-repo']>

async function putSetRepository(ctx: TransactionCtx, organizationId: string, repo: RepoInput) {
  const { identifier, 'oauth-token-id': tokenId, 'github-app-installation-id': installationId } = repo
  if (repo['tags-regex'])
    throw invalid('tags-regex must be empty: pushes to a branch publish a policy set', `${REPO}/tags-regex`)
  if (!identifier) throw invalid("identifier can't be blank", `${REPO}/identifier`)
  if (!tokenId && !installationId)
    throw invalid('oauth-token-id or github-app-installation-id is missing', `${REPO}/oauth-token-id`)
  const connection = tokenId ? { tokenId } : { installationId: installationId! }
  return putRepository(ctx, { organizationId, projectId: null, connection, identifier })
}

type ListPolicySets = { page: Page; search: string | undefined; kind: string | undefined }

export async function listPolicySets(ctx: Ctx, organizationName: string, query: ListPolicySets) {
  const organization = await requireOrganization(ctx, organizationName, 'policies:read')
  const list = { ...query, organizationId: organization.id }
  const { rows, total } = await store.listPolicySets(ctx.db, ctx.actor, list)
  return { total, rows: rows.map((row) => permittedPolicySet(ctx, row, organization.can)) }
}

/** The sets that apply to the runs of a workspace, which the caller has authorised. */
export async function listEffectivePolicySets({ db }: Pick<Ctx, 'db'>, workspace: scopeStore.InProject) {
  return scopeStore.selectEffectivePolicySets(db, workspace).execute()
}

/** As `listEffectivePolicySets`, pipelined with the transaction's next statement. Call the returned function after that statement. */
export async function readEffectivePolicySets({ db }: Pick<Ctx, 'db'>, workspace: scopeStore.InProject) {
  const read = await readWithNext(db, [scopeStore.selectEffectivePolicySets(db, workspace)])
  return async (): Promise<scopeStore.EffectivePolicySet[]> => (await read())[0]
}

/** The sets that select a workspace, and why they apply or do not. */
export async function listAppliedPolicySets(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  await requireOrganization(ctx, workspace.organization_name, 'policies:read')
  return scopeStore.listAppliedPolicySets(ctx.db, workspace, page)
}

export async function updatePolicySet(ctx: Ctx, id: string, { attributes, relationships }: UpdatePolicySet) {
  const set = await requirePolicySet(ctx, id, 'policies:manage')
  const repo = attributes['vcs-repo']
  await checkSettings(ctx, attributes)
  const name = attributes.name ?? set.name
  const changes = {
    name,
    description: attributes.description === undefined ? set.description : (attributes.description ?? ''),
    is_global: attributes.global ?? set.is_global,
    overridable: attributes.overridable ?? set.overridable,
    policy_tool_version: attributes['policy-tool-version'] || set.policy_tool_version,
    policies_path: attributes['policies-path'] === undefined ? set.policies_path : (attributes['policies-path'] ?? ''),
    policy_update_patterns: attributes['policy-update-patterns'] ?? set.policy_update_patterns,
    ...(repo && {
      vcs_branch: repo.branch === undefined ? set.vcs_branch : repo.branch || null,
      vcs_submodules: repo['ingress-submodules'] ?? set.vcs_submodules,
    }),
    ...(repo === null && { vcs_branch: null, vcs_submodules: false }),
  }
  await rejectTakenName(taken(name), async () =>
    transact(ctx, async (ctx) => {
      const locked = await store.lockPolicySet(ctx.db, id)
      if (!locked) throw notFound('policy set')
      const repositoryId = await changedRepository(ctx, set, repo)
      if (repositoryId && set.policy_ids.length > 0)
        throw invalid(`the set ${set.name} has policies attached: remove them before it uses a repository`, REPO)
      const isVersioned = locked.current_version_id !== null || repositoryId !== null
      const now = { ...locked, ...changes, is_versioned: isVersioned }
      await store.updatePolicySet(ctx.db, id, {
        ...changes,
        is_versioned: isVersioned,
        repository_id: repositoryId,
        updated_at: ctx.now(),
      })
      if (now.is_global && !locked.is_global) await clearAttachments(ctx, id)
      await replaceSetLists(ctx, now, relationships)
      if (attributes['tag-selectors']) await replaceTagSelectors(ctx, now, attributes['tag-selectors'])
      const event = policySetAudit(set, 'update', { changed: Object.keys({ ...attributes, ...relationships }) })
      await recordAudit(ctx, { ...event, settings: { before: set, columns: changes } })
      const before = set.repository_id
      if (before !== null && repositoryId !== before)
        await raise(ctx, policySetDisconnected, { setId: id, repositoryId: before })
      if (repositoryId !== null && follows(locked, { ...now, repository_id: repositoryId }))
        await raise(ctx, policySetConnected, { setId: id })
    }),
  )
  return requirePolicySet(ctx, id, 'policies:read')
}

type Followed = {
  repository_id: string | null
  vcs_branch: string | null
  vcs_submodules: boolean
  policies_path: string
}

/** Whether a set follows its repository otherwise than before. */
function follows(before: Followed, now: Followed) {
  const names = ['repository_id', 'vcs_branch', 'vcs_submodules', 'policies_path'] as const
  return names.some((name) => before[name] !== now[name])
}

/** The repository after an update; absent members of `repo` keep their values. */
async function changedRepository(ctx: TransactionCtx, set: PolicySet, repo: RepoInput | null | undefined) {
  if (repo === null) return null
  const isNamed = Boolean(repo?.['oauth-token-id']) || Boolean(repo?.['github-app-installation-id'])
  if (!repo || (!repo.identifier && !isNamed && set.repository_id !== null)) return set.repository_id
  return putSetRepository(ctx, set.organization_id, {
    ...repo,
    identifier: repo.identifier ?? set.repository?.identifier,
    'oauth-token-id': isNamed ? repo['oauth-token-id'] : set.repository?.token_id,
    'github-app-installation-id': isNamed ? repo['github-app-installation-id'] : set.repository?.installation_id,
  })
}

/** Deletes a set with its versions. A sweep deletes their archives. */
export async function deletePolicySet(ctx: Ctx, id: string) {
  const set = await requirePolicySet(ctx, id, 'policies:manage')
  await audited(ctx, policySetAudit(set, 'destroy'), async (ctx) => {
    await store.deletePolicySet(ctx.db, id)
    if (set.repository_id !== null)
      await raise(ctx, policySetDisconnected, { setId: id, repositoryId: set.repository_id })
  })
}
