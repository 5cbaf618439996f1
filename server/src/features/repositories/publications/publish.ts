import { policiesDirectory } from '@groundstate/contract/policy-sets'
import type { PublicationReason } from '@groundstate/contract/vcs-publications'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { jobHandler, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { publishPolicySetVersion } from '../../policies/policy-set-versions/publish.ts'
import { failModuleVersion, publishModuleVersion } from '../../registry/registry-modules/publish.ts'
import { SHARED_PREFIX } from '../../runs/configuration-versions/urls.ts'
import { inspectEvent, statedFacts } from '../deliveries/inspect.ts'
import { type Attempts, attempt, attemptsSchema } from '../git/attempts.ts'
import { FETCHING, MAX_FILES_BYTES } from '../git/fetch-commit.ts'
import { fetchArchive } from '../git/run.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import { type PolicySetRule, dependsOnFiles, filesRefusal } from './decide-publication.ts'
import * as store from './store.ts'

const subjectSchema = z.union([z.object({ moduleId: z.string() }), z.object({ policySetId: z.string() })])
const publishJob = jobKind(
  'publications.publish',
  z.object({ subject: subjectSchema, attempts: attemptsSchema.optional() }),
  FETCHING,
)

/** Has the pending publications of modules and policy sets published after the transaction of `ctx`. */
export async function publishLater(ctx: TransactionCtx, ...subjects: readonly store.Subject[]) {
  if (subjects.length === 0) return
  await ctx.jobs.enqueueAll(
    ctx.db,
    publishJob,
    subjects.map((subject) => ({ subject })),
  )
}

export const publishJobs = [
  jobHandler(publishJob, async (ctx, { subject, attempts }, signal) =>
    publishNext({ ...ctx, actor: SYSTEM }, subject, { attempts, signal }),
  ),
  scheduledJob('publications.resume', '37 * * * *', resumePublications),
]

/** Age at which a pending publication has had time for all attempts, in ms. */
const STALLED_MS = 2 * 3_600_000

/** Has publications continued whose job is gone, for instance because its retries ended. */
export async function resumePublications(ctx: Ctx) {
  const stalled = await store.listStalled(ctx.db, new Date(ctx.now().getTime() - STALLED_MS))
  await transact(ctx, async (ctx) => publishLater(ctx, ...stalled))
}

type Options = { attempts: Attempts | undefined; signal: AbortSignal }
type End = { status: 'published' | 'skipped' | 'failed'; reason: PublicationReason; detail: string | null }

const skip = (reason: PublicationReason, detail: string | null = null): End => ({ status: 'skipped', reason, detail })
const failure = (detail: string): End => ({ status: 'failed', reason: 'failed', detail })

/** Publishes the oldest pending publication of a module or policy set: versions must appear in the order of the pushes. */
async function publishNext(ctx: Ctx, subject: store.Subject, { attempts, signal }: Options) {
  const pending = await store.findNextPending(ctx.db, subject)
  if (!pending) return
  const repository = await findRepository(ctx.db, pending.repository_id)
  const target = await findTarget(ctx, pending)
  if (!repository || !target) return end(ctx, { pending, repository, target }, failure(REPOSITORY_LEFT))
  const job = { pending, repository, target }
  const known = await alreadyDecided(ctx, job)
  if (known) return end(ctx, job, known)
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: true }, async () =>
    fetchFiles(ctx, job, signal),
  )
  if (outcome.kind === 'retry') {
    if (outcome.failure !== undefined) {
      const message = `${outcome.failure}; the next attempt is at ${outcome.at.toISOString()}`
      await store.setPendingMessage(ctx.db, pending.id, message)
      await transact(ctx, async (ctx) => announcePublication(ctx, pending))
    }
    const data = { subject, attempts: outcome.attempts }
    return ctx.jobs.enqueue(ctx.db, publishJob, data, { startAfter: outcome.at })
  }
  if (outcome.kind === 'failed') return end(ctx, job, failure(cannotFetch(repository, outcome.failure)))
  const { result } = outcome
  await end(ctx, job, 'blobKey' in result ? await publishArchive(ctx, job, result.blobKey) : result)
}

const REPOSITORY_LEFT = 'the repository is no longer connected'

function cannotFetch({ identifier }: RepositoryRow, message: string) {
  return `the files cannot be fetched from ${identifier}: ${message}`
}

type Target = { module: store.ModuleRow } | { policySet: store.PolicySetRow }
type Job = { pending: store.PendingRow; repository: RepositoryRow; target: Target }

/** Undefined for a module or policy set that has another repository by now. */
async function findTarget(ctx: Ctx, pending: store.PendingRow): Promise<Target | undefined> {
  const { registry_module_id: moduleId, policy_set_id: policySetId, repository_id: repositoryId } = pending
  const module = moduleId === null ? undefined : await store.findModule(ctx.db, moduleId)
  if (module?.repository_id === repositoryId) return module && { module }
  const policySet = policySetId === null ? undefined : await store.findPolicySet(ctx.db, policySetId)
  return policySet?.repository_id === repositoryId ? policySet && { policySet } : undefined
}

/** How a publication ends without its files: the version may exist, also because an earlier attempt died after it had published it. */
async function alreadyDecided(ctx: Ctx, { pending, target }: Job): Promise<End | undefined> {
  if ('module' in target) {
    const version = pending.version ?? ''
    const [known] = await store.listVersions(ctx.db, target.module.id, [version])
    if (known?.status !== 'ok') return undefined
    if (known.commit_sha !== pending.commit_sha) return skip('tag-moved', version)
    const isOwn = await store.isPublishedFor(ctx.db, pending)
    return isOwn ? skip('already-published', version) : published(pending)
  }
  const { current_commit: commit, current_path: path, policies_path: wanted } = target.policySet
  const latest = await store.findLatestPublished(ctx.db, target.policySet.id)
  // With another path, the same commit has other policies.
  if (commit === pending.commit_sha && path === policiesDirectory(wanted))
    return latest?.commit_sha === commit ? skip('same-commit') : published(pending)
  return latest && latest.reported_at > pending.reported_at ? skip('superseded') : undefined
}

function published({ reason, detail }: store.PendingRow): End {
  return { status: 'published', reason: reason as PublicationReason, detail }
}

function ruleOf(row: store.PolicySetRow): PolicySetRule {
  const { branch, policies_path: path, policy_update_patterns: updatePatterns } = row
  return { branch: branch ?? '', policiesPath: policiesDirectory(path), updatePatterns }
}

/** Stores the archive of the commit as a blob, or decides that its changed files do not concern the policy set. */
async function fetchFiles(ctx: Ctx, job: Job, signal: AbortSignal): Promise<End | { blobKey: string }> {
  const { pending, repository, target } = job
  if ('policySet' in target) {
    const refusal = await refusalOfFiles(ctx, { ...job, policySet: target.policySet }, signal)
    if (refusal) return { status: 'skipped', ...refusal }
  }
  const blobKey = `${SHARED_PREFIX}${pending.id}/${ctx.newId('fetch')}`
  const directory = 'module' in target ? (target.module.vcs_source_directory ?? '').replaceAll(SLASHES, '') : ''
  const operation = {
    kind: 'archive',
    source: { commit: { sha: pending.commit_sha, ref: pending.commit_ref } },
    ...(directory !== '' && { directory }),
    submodules: 'policySet' in target && target.policySet.vcs_submodules,
    maxBytes: MAX_FILES_BYTES,
  } as const
  await fetchArchive(ctx, repository, { operation, blobKey, signal })
  return { blobKey }
}

/** Around a directory, which people write in several ways. */
const SLASHES = /^(?:\.?\/)+|^\.$|\/+$/g

type PolicyJob = Pick<Job, 'pending' | 'repository'> & { policySet: store.PolicySetRow }

async function refusalOfFiles(ctx: Ctx, { pending, repository, policySet }: PolicyJob, signal: AbortSignal) {
  const { event, delivery_id: deliveryId } = pending
  const rule = ruleOf(policySet)
  if (event?.kind !== 'push' || deliveryId === null || !dependsOnFiles(rule)) return undefined
  // Without a version there is nothing that the files could have changed in.
  if (policySet.current_commit === null) return undefined
  const stated = statedFacts(event)
  const facts = stated.changedFiles ? stated : await inspectEvent(ctx, { deliveryId, repository, event, signal })
  return filesRefusal(rule, facts.changedFiles)
}

async function publishArchive(ctx: Ctx, job: Job, blobKey: string): Promise<End> {
  try {
    const problem = await publishVersion(ctx, job, blobKey)
    return problem === undefined ? published(job.pending) : failure(problem)
  } catch (error) {
    if (error instanceof AppError && EXPECTED.has(error.kind)) return failure(error.message)
    throw error
  } finally {
    await ctx.blobs.delete(blobKey)
  }
}

const EXPECTED: ReadonlySet<string> = new Set(['invalid', 'conflict', 'too-large', 'not-found'])

/** Returns why the files are not accepted; undefined if they are published. */
async function publishVersion(ctx: Ctx, { pending, repository, target }: Job, blobKey: string) {
  const archive = await ctx.blobs.open(blobKey)
  const { commit_sha: commitSha } = pending
  if ('module' in target) {
    const version = { moduleId: target.module.id, version: pending.version ?? '', commitSha }
    return (await publishModuleVersion(ctx, version, archive)) ?? undefined
  }
  const { service_provider: source, identifier } = repository
  const ingress = { source, commitUrl: pending.commit_url, identifier }
  return (await publishPolicySetVersion(ctx, { setId: target.policySet.id, commitSha, ingress }, archive)) ?? undefined
}

type Ending = { pending: store.PendingRow; repository: RepositoryRow | undefined; target: Target | undefined }

/** Ends a publication, and has the next one of the module or policy set published. */
async function end(ctx: Ctx, { pending, repository, target }: Ending, ended: End) {
  await transact(ctx, async (ctx) => {
    if (!(await store.endPublication(ctx.db, pending.id, { ...ended, now: ctx.now() }))) return
    announcePublication(ctx, pending)
    if (ended.status === 'failed' && target && 'module' in target) {
      const version = { moduleId: target.module.id, version: pending.version ?? '', commitSha: pending.commit_sha }
      await failModuleVersion(ctx, version, ended.detail ?? '')
    }
    if (repository && (ended.status === 'failed' || ended.reason === 'tag-moved'))
      await recordRepositoryProblem(ctx, repository, problemOf(target, ended, pending))
  })
  await transact(ctx, async (ctx) => publishLater(ctx, subjectOf(pending)))
}

function problemOf(target: Target | undefined, { reason, detail }: End, { commit_sha: sha }: store.PendingRow) {
  const subject =
    target && ('module' in target ? `module ${target.module.name}` : `policy set ${target.policySet.name}`)
  if (reason === 'tag-moved')
    return {
      message: `a tag of version ${detail} of ${subject} was moved to ${sha}: the published version does not change`,
      suggestedAction: 'Publish a new version, or move the tag back',
    }
  return {
    message: `${sha} was not published as a version of ${subject}: ${detail}`,
    suggestedAction: 'Correct the repository, or replay the delivery when it can be read again',
  }
}

export function subjectOf(row: { registry_module_id: string | null; policy_set_id: string | null }): store.Subject {
  return row.registry_module_id === null
    ? { policySetId: row.policy_set_id ?? '' }
    : { moduleId: row.registry_module_id }
}

function announcePublication(ctx: TransactionCtx, row: store.PendingRow) {
  const organization = row.organization_id
  if (row.delivery_id !== null) announce(ctx, { organization, type: 'vcs-deliveries', id: row.delivery_id })
  if (row.registry_module_id !== null)
    announce(ctx, { organization, type: 'registry-modules', id: row.registry_module_id })
  if (row.policy_set_id !== null) announce(ctx, { organization, type: 'policy-sets', id: row.policy_set_id })
}
