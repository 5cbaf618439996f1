import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { domainEvent, raise } from '../../../events.ts'
import { jobHandler, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { type Attempts, attempt, attemptsSchema } from '../git/attempts.ts'
import { fetchCommitLater } from '../git/fetch-commit.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import { type Decision, type WorkspaceRule, decide, dependsOnFiles } from './decide.ts'
import { ingressId, ingressRow } from './ingress.ts'
import { type Facts, inspectEvent, statedFacts } from './inspect.ts'
import { cancelStalePlans } from './stale-plans.ts'
import { decisionRow, startRuns } from './start-runs.ts'
import * as store from './store.ts'

const decideDeliveryJob = jobKind('vcs-deliveries.decide', z.object({ id: z.string() }), {
  concurrency: 4,
  retryLimit: 14,
})

/** Apart from the other, so that deliveries that git need not be asked about don't wait for a slow host. */
const inspectDeliveryJob = jobKind(
  'vcs-deliveries.inspect',
  z.object({ id: z.string(), attempts: attemptsSchema.optional() }),
  { concurrency: 12, retryLimit: 14, timeLimitMs: 3_600_000 },
)

/** Has a stored delivery decided after the transaction of `ctx`. */
export async function decideLater(ctx: TransactionCtx, id: string) {
  await ctx.jobs.enqueue(ctx.db, decideDeliveryJob, { id })
}

export const vcsDeliveryJobs = [
  jobHandler(decideDeliveryJob, async (ctx, { id }) => decideDelivery({ ...ctx, actor: SYSTEM }, id)),
  jobHandler(inspectDeliveryJob, async (ctx, { id, attempts }, signal) =>
    inspectDelivery({ ...ctx, actor: SYSTEM }, id, { attempts, signal }),
  ),
  scheduledJob('vcs-deliveries.resume', '17 * * * *', resumeDeliveries),
]

/** Age at which a pending delivery has had time for all attempts, in ms. */
const STALLED_MS = 2 * 3_600_000

/** Has deliveries decided whose job is gone, for instance because its retries ended: they hold up later ones. */
export async function resumeDeliveries(ctx: Ctx) {
  const before = new Date(ctx.now().getTime() - STALLED_MS)
  const stalled = await store.listPendingSince(ctx.db, before)
  await transact(ctx, async (ctx) => {
    for (const id of stalled) await decideLater(ctx, id)
  })
}

/** A delivery has been decided in every workspace; raised in the transaction. */
export const deliveryDecided = domainEvent<{ deliveryId: string; repositoryId: string; event: HostEvent }>(
  'vcs-delivery.decided',
)

/** A delivery to decide now, and the workspaces that it has not been decided about. */
type Pending = {
  delivery: store.DeliveryRow
  repository: RepositoryRow
  event: HostEvent
  rules: readonly store.RuleRow[]
}

/** Decides what a delivery does in each workspace of its repository, unless git has to be asked first. */
async function decideDelivery(ctx: Ctx, id: string) {
  const pending = await findPending(ctx, id)
  if (!pending) return
  const facts = statedFacts(pending.event)
  if (!needsGit(pending, facts)) {
    try {
      return await decideWith(ctx, pending, facts)
    } catch (error) {
      // The other job repeats it, and has it fail in the end: a pending delivery holds up later ones.
      ctx.log.error({ err: error, delivery: id }, 'a delivery could not be decided')
    }
  }
  await ctx.jobs.enqueue(ctx.db, inspectDeliveryJob, { id })
}

async function inspectDelivery(
  ctx: Ctx,
  id: string,
  { attempts, signal }: { attempts: Attempts | undefined; signal: AbortSignal },
) {
  const pending = await findPending(ctx, id)
  if (!pending) return
  const { repository, event } = pending
  const outcome = await attempt(ctx, { repository, attempts, signal, isReported: true }, async () => {
    const facts = await inspectEvent(ctx, { deliveryId: id, repository, event, signal })
    await decideWith(ctx, pending, facts)
  })
  if (outcome.kind === 'done') return
  await transact(ctx, async (ctx) => {
    if (outcome.kind === 'failed') return failDelivery(ctx, pending, outcome.failure)
    const data = { id, attempts: outcome.attempts }
    await ctx.jobs.enqueue(ctx.db, inspectDeliveryJob, data, { startAfter: outcome.at })
    if (outcome.failure === undefined) return
    await store.setPendingMessage(ctx.db, id, `${outcome.failure}; the next attempt is at ${outcome.at.toISOString()}`)
    announceDelivery(ctx, pending.delivery)
  })
}

async function failDelivery(ctx: TransactionCtx, { delivery, repository }: Pending, failure: string) {
  if (!(await endDelivery(ctx, delivery, failure))) return
  const message = `a delivery of ${repository.identifier} failed: ${failure}`
  const suggestedAction = 'Replay the delivery when the repository can be read again'
  await recordRepositoryProblem(ctx, repository, { message, suggestedAction })
}

/** Undefined for one that is decided, or that waits for an earlier one. */
async function findPending(ctx: Ctx, id: string): Promise<Pending | undefined> {
  const delivery = await store.findDelivery(ctx.db, id)
  if (delivery?.status !== 'pending' || !delivery.event) return undefined
  const repository = await findRepository(ctx.db, delivery.repository_id)
  if (!repository) {
    await transact(ctx, async (ctx) => endDelivery(ctx, delivery, 'the repository is no longer connected'))
    return undefined
  }
  if ((await store.findFirstPending(ctx.db, id)) !== id) return undefined
  const rules = await store.listRules(ctx.db, { repositoryId: repository.id, deliveryId: id })
  return { delivery, repository, event: delivery.event, rules }
}

function needsGit({ event, rules }: Pending, facts: Facts) {
  if (event.kind === 'tag' || facts.changedFiles !== null) return false
  if (event.kind === 'push' && event.before === null) return false
  const started = rules.filter((row) => decideAbout(row, facts).decision !== 'skip')
  return event.kind === 'pull-request' ? started.length > 0 : started.some((row) => dependsOnFiles(ruleOf(row)))
}

function decideAbout(row: store.RuleRow, facts: Facts): Decision {
  return decide(ruleOf(row), { ...facts, plansForks: row.plans_forks })
}

function ruleOf(row: store.RuleRow): WorkspaceRule {
  return {
    branch: row.branch ?? '',
    tagsRegex: row.vcs_tags_regex,
    fileTriggersEnabled: row.file_triggers_enabled,
    triggerPrefixes: row.trigger_prefixes,
    triggerPatterns: row.trigger_patterns,
    workingDirectory: row.working_directory,
    queueAllRuns: row.queue_all_runs,
    speculativeEnabled: row.speculative_enabled,
    hasRuns: row.latest_run_id !== null,
    isLocal: row.mode === 'local',
    isInScope: row.is_in_scope,
  }
}

/** Creates the runs, each with its decision, so that a job that runs again continues where the earlier one ended. */
async function decideWith(ctx: Ctx, { delivery, repository, rules }: Pending, facts: Facts) {
  const decided = rules.map((row) => ({ workspaceId: row.id, ...decideAbout(row, facts) }))
  const [skipped, started] = [
    decided.filter(({ decision }) => decision === 'skip'),
    decided.filter(({ decision }) => decision !== 'skip'),
  ]
  const skippedIds = skipped.map(({ workspaceId }) => workspaceId)
  await cancelStalePlans(ctx, { delivery, repository, event: facts.event }, skippedIds)
  await store.insertDecisions(ctx.db, delivery.id, skipped.map(decisionRow))
  const happened = { delivery, repository, ...facts }
  const ingress = ingressRow(happened)
  if (ingress && started.length > 0) {
    try {
      await startRuns(ctx, { ...happened, ingress }, started)
    } catch (error) {
      // The runs that were created need not wait for the others.
      await transact(ctx, async (ctx) => fetchCommitLater(ctx, ingress.id))
      throw error
    }
  }
  await transact(ctx, async (ctx) => {
    if (!(await endDelivery(ctx, delivery, null))) return
    if (ingress && (started.length > 0 || delivery.run_count > 0)) await fetchCommitLater(ctx, ingress.id)
    await raise(ctx, deliveryDecided, { deliveryId: delivery.id, repositoryId: repository.id, event: facts.event })
  })
}

/**
 * Ends a delivery, as failed with a message, and has the next one about the same branch or pull request decided. False if another job has
 * ended it.
 */
async function endDelivery(ctx: TransactionCtx, delivery: store.DeliveryRow, message: string | null) {
  if (!(await store.endDelivery(ctx.db, delivery.id, { message, now: ctx.now() }))) return false
  announceDelivery(ctx, delivery)
  // Runs of a failed one may wait for it.
  if (message !== null) await fetchCommitLater(ctx, ingressId(delivery))
  const next = await store.findFirstPending(ctx.db, delivery.id)
  if (next !== undefined) await decideLater(ctx, next)
  return true
}

function announceDelivery(ctx: TransactionCtx, { organization_id: organization, id }: store.DeliveryRow) {
  announce(ctx, { organization, type: 'vcs-deliveries', id })
}
