import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import type { Page } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { policySetAudit, requirePolicySet } from '../../policies/policy-sets/access.ts'
import {
  type ModuleAddress,
  moduleAudit,
  requireModule,
  requireModuleAt,
} from '../../registry/registry-modules/access.ts'
import { requireDelivery } from '../deliveries/service.ts'
import { findRepository } from '../git/store.ts'
import { listCommits } from '../host-repositories/service.ts'
import { importModuleLater, importPolicySetLater } from './import.ts'
import * as store from './store.ts'

export async function listDeliveryPublications(ctx: Ctx, deliveryId: string, page: Page) {
  const { id } = await requireDelivery(ctx, deliveryId, 'vcs-settings:read')
  return store.listPublications(ctx.db, { deliveryId: id }, page)
}

export async function listModulePublications(ctx: Ctx, moduleId: string, page: Page) {
  const { id } = await requireModule(ctx, moduleId, 'registry:read')
  return store.listPublications(ctx.db, { moduleId: id }, page)
}

export async function listPolicySetPublications(ctx: Ctx, policySetId: string, page: Page) {
  const { id } = await requirePolicySet(ctx, policySetId, 'policies:read')
  return store.listPublications(ctx.db, { policySetId: id }, page)
}

/**
 * The latest commits of the branch of a module, or of the default branch for one that tags publish. Throws `not-found` for a module without a repository,
 * and for callers that may not publish: messages of commits are not part of the module.
 */
export async function listModuleCommits(ctx: Ctx, address: ModuleAddress) {
  const module = await requireModuleAt(ctx, address, 'registry:read')
  if (!module.can.has('modules:manage')) throw notFound(`commits of the module ${module.name}`)
  const repository = await findRepository(ctx.db, module.repository_id)
  if (!repository) throw notFound(`repository of the module ${module.name}`)
  const { identifier } = repository
  return { repository, commits: await listCommits(ctx, repository, { identifier, branch: module.vcs_branch }) }
}

/** Reads the repository of a module again, and publishes the versions that are missing. Throws `conflict` for a module without one. */
export async function resyncModule(ctx: Ctx, moduleId: string) {
  const module = await requireModule(ctx, moduleId, 'modules:manage')
  if (module.repository_id === null)
    throw conflict(`module ${module.name} has no repository: its versions are uploaded`)
  await audited(ctx, moduleAudit(module, 'resync'), async (ctx) =>
    importModuleLater(ctx, { moduleId: module.id, initialVersion: null }),
  )
}

/** Publishes the tip of a policy set's branch, unless it is published. Throws `conflict` for a set without a repository. */
export async function resyncPolicySet(ctx: Ctx, policySetId: string) {
  const set = await requirePolicySet(ctx, policySetId, 'policies:manage')
  if (set.repository_id === null) throw conflict(`policy set ${set.name} has no repository`)
  await audited(ctx, policySetAudit(set, 'resync'), async (ctx) => importPolicySetLater(ctx, set.id))
}

const EXPIRY_BATCH = 200

/** Deletes old publications of imports. Those of deliveries are deleted with them. */
export async function expirePublications(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!before) return
  await expireInBatches<true>(ctx, 'publications', {
    signal,
    batch: async () => {
      const deleted = await store.deletePublications(ctx.db, { before, limit: EXPIRY_BATCH })
      return { deleted, next: deleted < EXPIRY_BATCH ? undefined : true }
    },
  })
}
