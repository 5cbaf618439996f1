import { Readable } from 'node:stream'
import { traceparent } from '@groundstate/agent/tracing/tracing'
import type { PolicyRequest, ReportPolicies } from '@groundstate/contract/policy-requests'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { createClaims } from '../../../claims/claims.ts'
import { transact } from '../../../db/db.ts'
import { notFound, unauthorized } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import { openBundle, requireVersionBundle } from '../policy-set-versions/bundle.ts'
import {
  POLICY_LEASE_MS,
  type PolicyWork,
  openWork,
  policyRequestDocument,
  policyTopic,
  sealWork,
} from './policy-request.ts'
import * as store from './store.ts'

/** Maximum time for the evaluation of all sets of a run, in ms. */
const TIME_LIMIT_MS = 5 * 60_000
/** Margin beyond it for downloads and the report, in ms. */
const MARGIN_MS = 5 * 60_000
/** Maximum time in the queue, in ms. */
const QUEUE_MS = 10 * 60_000
/** Maximum time in the queue for trials, in ms: of a pool without an agent, and of one whose agents are busy with runs. */
const UNATTENDED_TRIAL_MS = 2 * 60_000
const TRIAL_QUEUE_MS = 60 * 60_000
/** Interval of checks for lost agents, in ms. */
const CHECK_MS = 60_000

export type PoliciesReported = {
  requestId: string
  /** Only while the request has this lease. */
  lease?: { expiresAt: Date | null } | undefined
  evaluationId: string | null
  /** The run of a trial that the request evaluates. */
  trialRunId: string | null
  work: PolicyWork
  report: ReportPolicies
  /** The pool of which no agent took the request. */
  untakenIn?: string | undefined
}

/**
 * A request has a result, or none will come. Raised in a transaction, in which a reaction must lock what waits for it, delete the request and
 * then end the evaluation; without a request to delete, the result is not needed. Cancellation locks in the same order.
 */
export const policiesReported = domainEvent<PoliciesReported>('policies.reported')

const checkJob = jobKind('policy-requests.check', z.object({ id: z.string() }), { concurrency: 2 })

type NewRequest = { poolId: string; work: PolicyWork; evaluationId?: string; trialRunId?: string }

/** Queues policies for the agents of a pool, with the transaction; nothing if the evaluation, or the run of the trial, is queued already. */
export async function queuePolicyRequest(ctx: TransactionCtx, { poolId, work, evaluationId, trialRunId }: NewRequest) {
  const id = ctx.newId('polreq')
  const now = ctx.now()
  const inserted = await store.insertPolicyRequest(ctx.db, {
    id,
    agent_pool_id: poolId,
    policy_evaluation_id: evaluationId ?? null,
    policy_trial_run_id: trialRunId ?? null,
    request: sealWork(ctx, id, { ...work, traceparent: traceparent() }),
    time_limit_ms: TIME_LIMIT_MS,
    created_at: now,
  })
  if (!inserted) return undefined
  ctx.signals.publishToOne(ctx.db, policyTopic(poolId))
  await checkPolicyRequestLater(ctx, id)
  return id
}

/** Has a request checked for lost agents in a minute, and every minute after. */
export async function checkPolicyRequestLater(ctx: TransactionCtx, id: string) {
  const startAfter = new Date(ctx.now().getTime() + CHECK_MS)
  await ctx.jobs.enqueue(ctx.db, checkJob, { id }, { startAfter })
}

type Claim = { agent: store.ClaimingAgent }

async function claimPolicyRequest(ctx: Ctx, { agent }: Claim): Promise<PolicyRequest | 'exited' | undefined> {
  const token = newTokenText()
  const now = ctx.now()
  const expiresAt = new Date(now.getTime() + POLICY_LEASE_MS)
  const row = await store.leaseNextRequest(ctx.db, { agent, tokenHash: tokenHash(token), now, expiresAt })
  if (row === undefined || row === 'exited') return row
  if (row.run) announce(ctx, runNotice(row.run))
  return policyRequestDocument(ctx, row, token)
}

const claims = createClaims<Claim, PolicyRequest>({
  name: 'policy request',
  topic: policyTopic,
  poolsWithItems: ({ now }, poolIds) => store.poolsWithRequests(poolIds, now()),
  claim: claimPolicyRequest,
  requeue: async (ctx, { id }, { agent }) => {
    await store.requeueRequest(ctx.db, id)
    ctx.signals.publish(ctx.db, policyTopic(agent.agent_pool_id))
  },
  kindOf: () => '',
  listPreferredAgents: async () => [],
})

export const waitForPolicyRequest = claims.wait

type Credentials = { token: string | undefined }

function noLongerExpected() {
  return unauthorized('the token is not that of this request, or its result is no longer expected')
}

/** Throws `unauthorized` for another token, or if the result is no longer expected. */
export async function requireTakenRequest(ctx: Ctx, id: string, { token }: Credentials) {
  const hash = token && tokenHash(token).toString('hex')
  const request = hash && (await store.findTakenRequest(ctx.db, { id, hash }))
  if (!request) throw noLongerExpected()
  return { ...request, work: openWork(ctx, request) }
}

/** Throws `unauthorized` as `requireTakenRequest` does, and after the time limit of the evaluation. */
export async function renewPolicyRequest(ctx: Ctx, id: string, { token = '' }: Credentials) {
  const now = ctx.now()
  const expiresAt = new Date(now.getTime() + POLICY_LEASE_MS)
  const renewal = { id, hash: tokenHash(token), now, expiresAt, marginMs: MARGIN_MS }
  if (!(await store.renewLease(ctx.db, renewal))) throw noLongerExpected()
}

/** OPA's input as JSON: the plan as its agent stored it, and the data of the run. */
export async function openInput(ctx: Ctx, id: string, credentials: Credentials) {
  const { work } = await requireTakenRequest(ctx, id, credentials)
  const plan = await ctx.blobs.open(work.planKey)
  const parts = async function* () {
    yield '{"plan":'
    yield* plan
    yield `,"run":${JSON.stringify(work.run)}}`
  }
  return Readable.from(parts(), { objectMode: false })
}

/** The archive of a set. Throws `not-found` for one that is not of the request. */
export async function openSetArchive(ctx: Ctx, id: string, { setId, ...credentials }: Credentials & { setId: string }) {
  const { work } = await requireTakenRequest(ctx, id, credentials)
  const set = work.sets.find((candidate) => candidate.id === setId)
  if (!set) throw notFound('policy set')
  if (set.archiveKey !== undefined) return ctx.blobs.open(set.archiveKey)
  if (set.versionId === null) return openBundle(ctx, set.id, set.digest)
  return (await requireVersionBundle(ctx, set.versionId)).open()
}

/** Records the result of an agent. Throws `unauthorized` as `requireTakenRequest` does, also for a repeated report. */
export async function recordReport(ctx: Ctx, id: string, { token, report }: Credentials & { report: ReportPolicies }) {
  const request = await requireTakenRequest(ctx, id, { token })
  const { policy_evaluation_id: evaluationId, policy_trial_run_id: trialRunId, work } = request
  const reported = { requestId: id, evaluationId, trialRunId, work, report }
  await transact(ctx, async (ctx) => raise(ctx, policiesReported, reported))
}

/** Fails a request that no agent takes, or with which several were lost; otherwise checks again later. */
async function checkRequest(ctx: Ctx, id: string) {
  const request = await store.findRequest(ctx.db, { id, pingedAfter: onlineSince(ctx.now()) })
  if (!request) return
  const now = ctx.now().getTime()
  const error = failureOf(request, now)
  await transact(ctx, async (ctx) => {
    await checkPolicyRequestLater(ctx, id)
    if (error === undefined) return
    const { policy_evaluation_id: evaluationId, policy_trial_run_id: trialRunId } = request
    await raise(ctx, policiesReported, {
      requestId: id,
      lease: { expiresAt: request.lease_expires_at },
      evaluationId,
      trialRunId,
      work: openWork(ctx, request),
      report: { error },
      untakenIn: request.leases < store.MAX_LEASES ? request.agent_pool_id : undefined,
    })
  })
}

type Request = NonNullable<Awaited<ReturnType<typeof store.findRequest>>>

function failureOf({ lease_expires_at: expiry, leases, created_at, ...request }: Request, now: number) {
  if (expiry !== null && expiry.getTime() > now) return undefined
  const agent = `the agent ${request.agent_name} of the pool ${request.pool_name}`
  if (leases >= store.MAX_LEASES)
    return `${agent} was lost during the evaluation of the policies, as were those before it`
  const limitMs = queueLimit(request)
  if (now - (expiry ?? created_at).getTime() < limitMs) return undefined
  const reason = request.has_agent ? 'they are busy' : 'none that evaluates policies is online'
  return `no agent of the pool ${request.pool_name} evaluated the policies within ${limitMs / 60_000} minutes: ${reason}`
}

/** Trials wait longer for busy agents, since runs precede them, and shorter for none, since someone waits for the result. */
function queueLimit({
  policy_trial_run_id: trialRunId,
  has_agent: hasAgent,
}: Pick<Request, 'policy_trial_run_id' | 'has_agent'>) {
  if (trialRunId === null) return QUEUE_MS
  return hasAgent ? TRIAL_QUEUE_MS : UNATTENDED_TRIAL_MS
}

export const policyRequestJobs = [
  jobHandler(checkJob, async (ctx, { id }) => checkRequest({ ...ctx, actor: SYSTEM }, id)),
]

export const policyRequestReactions = [reaction(agentRemoved, async (ctx, { agentId }) => claims.end(ctx, agentId))]
