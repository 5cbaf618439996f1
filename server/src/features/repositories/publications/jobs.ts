import { policiesDirectory } from '@groundstate/contract/policy-sets'
import type { TransactionCtx } from '../../../app.ts'
import { raise } from '../../../events.ts'
import { reaction, scheduledJob } from '../../../handlers.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { policySetConnected, policySetDisconnected } from '../../policies/policy-sets/access.ts'
import { moduleConnected, moduleDisconnected, moduleVersionRequested } from '../../registry/registry-modules/access.ts'
import { repositoryLeft } from '../../vcs/repositories/service.ts'
import { deliveryDecided } from '../deliveries/decide-delivery.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { type Decided, decideModule, decidePolicySet } from './decide-publication.ts'
import { importJobs, importModuleLater, importPolicySetLater, publicationRow } from './import.ts'
import { publishJobs, publishLater, subjectOf } from './publish.ts'
import { expirePublications } from './service.ts'
import * as store from './store.ts'

export const publicationReactions = [
  reaction(deliveryDecided, decidePublications),
  reaction(moduleConnected, importModuleLater),
  reaction(moduleDisconnected, async (ctx, { repositoryId }) => raise(ctx, repositoryLeft, { repositoryId })),
  reaction(policySetConnected, async (ctx, { setId }) => importPolicySetLater(ctx, setId)),
  reaction(policySetDisconnected, async (ctx, { repositoryId }) => raise(ctx, repositoryLeft, { repositoryId })),
  reaction(moduleVersionRequested, async (ctx, { moduleId, version, commitSha }) => {
    const module = await store.findModule(ctx.db, moduleId)
    const repository = module && (await findRepository(ctx.db, module.repository_id))
    if (!repository) return
    const branch = module.vcs_branch
    const commit = { sha: commitSha, ref: branch === null ? null : `refs/heads/${branch}` }
    const row = publicationRow(ctx, repository, { ...commit, reason: 'requested', detail: branch, version })
    await store.insertPublications(ctx.db, [{ ...row, registry_module_id: moduleId, policy_set_id: null }])
    await publishLater(ctx, { moduleId })
  }),
]

export const publicationJobs = [
  ...publishJobs,
  ...importJobs,
  scheduledJob('publications.expire', '52 4 * * *', expirePublications),
]

type Ended = { deliveryId: string; repositoryId: string; event: HostEvent }

/**
 * Decides what a delivery publishes, in the transaction that ends it: nothing is lost after a crash, and the deliveries of a branch are in
 * order.
 */
async function decidePublications(ctx: TransactionCtx, { deliveryId, repositoryId, event }: Ended) {
  const modules = await store.listModules(ctx.db, repositoryId)
  const policySets = await store.listPolicySets(ctx.db, repositoryId)
  const repository = modules.length + policySets.length > 0 && (await findRepository(ctx.db, repositoryId))
  if (!repository) return
  const decisions = [
    ...modules.map((row) => {
      const rule = { tags: row.vcs_tags, branch: row.vcs_branch, tagPrefix: row.vcs_tag_prefix ?? '' }
      return { registry_module_id: row.id, policy_set_id: null, decision: decideModule(rule, event) }
    }),
    ...policySets.map((row) => {
      const rule = {
        branch: row.branch ?? '',
        policiesPath: policiesDirectory(row.policies_path),
        updatePatterns: row.policy_update_patterns,
      }
      return { registry_module_id: null, policy_set_id: row.id, decision: decidePolicySet(rule, event) }
    }),
  ]
  const reportedAt = await store.findReportedAt(ctx.db, deliveryId)
  const rows = decisions.map(({ decision, ...subject }) => ({
    ...decidedRow(ctx, repository, decision),
    ...subject,
    delivery_id: deliveryId,
    reported_at: reportedAt,
  }))
  await store.insertPublications(ctx.db, rows)
  await publishLater(ctx, ...rows.filter(({ status }) => status === 'pending').map(subjectOf))
}

function decidedRow(ctx: TransactionCtx, repository: RepositoryRow, { reason, detail, publish }: Decided) {
  if (!publish) {
    const nothing = publicationRow(ctx, repository, { sha: '', ref: null, url: '', reason, detail, version: null })
    return { ...nothing, status: 'skipped' as const, commit_sha: null, ended_at: ctx.now() }
  }
  const { commit, ref, version } = publish
  const url = commit.url === '' ? {} : { url: commit.url }
  return publicationRow(ctx, repository, { sha: commit.sha, ref, ...url, reason, detail, version })
}
