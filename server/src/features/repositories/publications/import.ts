import type { GitResult } from '@groundstate/contract/git-operations'
import type { PublicationReason } from '@groundstate/contract/vcs-publications'
import { compareVersions } from '@groundstate/contract/version-constraint'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { commitPage } from '../../../vcs-hosts/list.ts'
import { setModuleStatus } from '../../registry/registry-modules/publish.ts'
import { type Attempts, attempt, attemptsSchema } from '../git/attempts.ts'
import { FETCHING } from '../git/fetch-commit.ts'
import { runGit } from '../git/run.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import { taggedVersion } from './decide-publication.ts'
import { publishLater } from './publish.ts'
import * as store from './store.ts'

const attempts = attemptsSchema.optional()
const importModuleJob = jobKind(
  'publications.import-module',
  z.object({ moduleId: z.string(), initialVersion: z.string().nullable(), attempts }),
  FETCHING,
)
const importPolicySetJob = jobKind(
  'publications.import-policy-set',
  z.object({ policySetId: z.string(), attempts }),
  FETCHING,
)

/** Has the tags of a module's repository published after the transaction of `ctx`, or the tip of its branch as the initial version. */
export async function importModuleLater(
  ctx: TransactionCtx,
  data: { moduleId: string; initialVersion: string | null },
) {
  await ctx.jobs.enqueue(ctx.db, importModuleJob, data)
}

/** Has the tip of a policy set's branch published after the transaction of `ctx`. */
export async function importPolicySetLater(ctx: TransactionCtx, policySetId: string) {
  await ctx.jobs.enqueue(ctx.db, importPolicySetJob, { policySetId })
}

export const importJobs = [
  jobHandler(importModuleJob, async (anyone, data, signal) => {
    const ctx = { ...anyone, actor: SYSTEM }
    const module = await store.findModule(ctx.db, data.moduleId)
    const repository = module && (await findRepository(ctx.db, module.repository_id))
    if (!repository) return
    const outcome = await readRefs(ctx, repository, { attempts: data.attempts, signal })
    if (outcome.kind === 'retry')
      return ctx.jobs.enqueue(
        ctx.db,
        importModuleJob,
        { ...data, attempts: outcome.attempts },
        { startAfter: outcome.at },
      )
    if (outcome.kind === 'failed') return failImport(ctx, { repository, module }, outcome.failure)
    if (module.vcs_tags) await importTags(ctx, { module, repository, refs: outcome.result })
    else await importBranch(ctx, { module, repository, refs: outcome.result }, data.initialVersion)
  }),
  jobHandler(importPolicySetJob, async (anyone, data, signal) => {
    const ctx = { ...anyone, actor: SYSTEM }
    const policySet = await store.findPolicySet(ctx.db, data.policySetId)
    const repository = policySet && (await findRepository(ctx.db, policySet.repository_id))
    if (!repository) return
    const outcome = await readRefs(ctx, repository, { attempts: data.attempts, signal })
    if (outcome.kind === 'retry')
      return ctx.jobs.enqueue(
        ctx.db,
        importPolicySetJob,
        { ...data, attempts: outcome.attempts },
        { startAfter: outcome.at },
      )
    if (outcome.kind === 'failed') return failImport(ctx, { repository, policySet }, outcome.failure)
    const tip = tipOf(outcome.result, policySet.vcs_branch)
    if ('problem' in tip) return failImport(ctx, { repository, policySet }, tip.problem)
    const row = publicationRow(ctx, repository, { ...tip, reason: 'imported', detail: tip.branch, version: null })
    await transact(ctx, async (ctx) => {
      await store.insertPublications(ctx.db, [{ ...row, registry_module_id: null, policy_set_id: policySet.id }])
      announce(ctx, { organization: policySet.organization_id, type: 'policy-sets', id: policySet.id })
      await publishLater(ctx, { policySetId: policySet.id })
    })
  }),
]

type Options = { attempts: Attempts | undefined; signal: AbortSignal }

async function readRefs(ctx: Ctx, repository: RepositoryRow, { attempts, signal }: Options) {
  // Until the host has been asked about the repository, its URL for git is a guess: a later attempt has the right one.
  const isReported = repository.default_branch === null
  return attempt(ctx, { repository, attempts, signal, isReported }, async () =>
    runGit(ctx, repository, { kind: 'refs' }, { signal }),
  )
}

type Failed = { repository: RepositoryRow } & ({ module: store.ModuleRow } | { policySet: store.PolicySetRow })

async function failImport(ctx: Ctx, { repository, ...of }: Failed, failure: string) {
  const subject = 'module' in of ? `module ${of.module.name}` : `policy set ${of.policySet.name}`
  await transact(ctx, async (ctx) => {
    if ('module' in of) await setModuleStatus(ctx, of.module.id, 'setup_failed')
    await recordRepositoryProblem(ctx, repository, {
      message: `${subject} cannot be published from ${repository.identifier}: ${failure}`,
      suggestedAction: 'Check that the repository exists and that the connection may read it',
    })
  })
}

type Refs = { repository: RepositoryRow; refs: GitResult<'refs'> }
type Import = Refs & { module: store.ModuleRow }

/** Publishes the tags that are versions, the highest first, which people want to use. */
async function importTags(ctx: Ctx, { module, repository, refs }: Import) {
  const found = new Map<string, { name: string; sha: string }>()
  for (const tag of refs.tags) {
    const version = taggedVersion(tag.name, module.vcs_tag_prefix ?? '')
    if (version !== undefined && !found.has(version)) found.set(version, tag)
  }
  const versions = [...found.keys()].toSorted((a, b) => compareVersions(b, a))
  await transact(ctx, async (ctx) => {
    const known = await store.listVersions(ctx.db, module.id, versions)
    const done = new Set([
      ...known.filter(({ status }) => status === 'ok').map(({ version }) => version),
      ...(await store.listPendingVersions(ctx.db, module.id)),
    ])
    const rows = versions
      .filter((version) => !done.has(version))
      .map((version) => {
        const { name, sha } = found.get(version) ?? { name: '', sha: '' }
        const commit = { sha, ref: `refs/tags/${name}` }
        const row = publicationRow(ctx, repository, { ...commit, reason: 'imported', detail: `tag ${name}`, version })
        return { ...row, registry_module_id: module.id, policy_set_id: null }
      })
    await store.insertPublications(ctx.db, rows)
    announce(ctx, { organization: module.organization_id, type: 'registry-modules', id: module.id })
    if (versions.length === 0) await setModuleStatus(ctx, module.id, 'no_version_tags')
    if (rows.length > 0) await publishLater(ctx, { moduleId: module.id })
  })
}

/** The version of a module whose branch publishes it, unless another was chosen (public documentation: "Registry modules API"). */
const INITIAL_VERSION = '0.0.0'

/** Publishes the tip of the branch as the first version of a new module, and the versions that could not be published before. */
async function importBranch(ctx: Ctx, { module, repository, refs }: Import, initialVersion: string | null) {
  const tip = tipOf(refs, module.vcs_branch)
  if ('problem' in tip) return failImport(ctx, { repository, module }, tip.problem)
  const { ref, branch: detail } = tip
  await transact(ctx, async (ctx) => {
    const pending = new Set(await store.listPendingVersions(ctx.db, module.id))
    const requested = await store.listUnpublished(ctx.db, module.id)
    const isNew = module.status !== 'setup_complete' && requested.length + pending.size === 0
    const first = isNew ? [{ sha: tip.sha, version: initialVersion ?? INITIAL_VERSION }] : []
    const rows = [...requested, ...first]
      .filter(({ version }) => !pending.has(version))
      .map(({ sha, version }) => {
        const reason = isNew ? 'imported' : 'requested'
        const row = publicationRow(ctx, repository, { sha, ref, reason, detail, version })
        return { ...row, registry_module_id: module.id, policy_set_id: null }
      })
    await store.insertPublications(ctx.db, rows)
    announce(ctx, { organization: module.organization_id, type: 'registry-modules', id: module.id })
    if (rows.length > 0) await publishLater(ctx, { moduleId: module.id })
  })
}

/** The tip of a branch, or of the default branch for null; or why there is none. */
type Tip = { sha: string; ref: string; branch: string }

function tipOf({ defaultBranch, branches }: GitResult<'refs'>, name: string | null): Tip | { problem: string } {
  const branch = name ?? defaultBranch
  if (branch === null) return { problem: 'it has no commits' }
  const found = branches.find((each) => each.name === branch)
  return found ? { sha: found.sha, ref: `refs/heads/${branch}`, branch } : { problem: `it has no branch ${branch}` }
}

type Published = {
  sha: string
  ref: string | null
  url?: string
  reason: PublicationReason
  detail: string | null
  version: string | null
}

/** A commit to publish that no delivery has reported. */
export function publicationRow(ctx: Ctx, repository: RepositoryRow, published: Published) {
  const { sha, ref, url = commitPage(repository, sha), reason, detail, version } = published
  return {
    id: ctx.newId('vcsp'),
    organization_id: repository.organization_id,
    repository_id: repository.id,
    delivery_id: null as string | null,
    status: 'pending' as 'pending' | 'skipped',
    reason,
    detail,
    version,
    commit_sha: sha as string | null,
    commit_ref: ref,
    commit_url: url,
    reported_at: ctx.now(),
    created_at: ctx.now(),
    ended_at: null as Date | null,
  }
}
