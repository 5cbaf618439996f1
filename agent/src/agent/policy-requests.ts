import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyRequest, ReportPolicies } from '@groundstate/contract/policy-requests'
import { withLogFields } from '../log-fields.ts'
import {
  type Evaluation,
  OPA_LIMITS,
  type OpaLimits,
  evaluateSet,
  redactedSets,
  storeCapabilities,
  storeInput,
} from '../policy/evaluation.ts'
import { type OpaSource, findOpa } from '../policy/opa.ts'
import { messageOf } from '../process/errors.ts'
import { Stopped } from '../process/process.ts'
import type { AgentContext } from '../run/context.ts'
import { claimPolicies, getForPolicies, renewPolicyRequest, reportPolicies } from '../server/client.ts'
import { traced } from '../tracing/tracing.ts'
import { type RequestClaims, serveClaims } from './task-requests.ts'

/** Maximum number of concurrent evaluations. */
const LIMIT = 2
const MAX_TIMER_MS = 2 ** 31 - 1

type PolicyClaims = RequestClaims & {
  workDir: string
  agent: AgentContext
  opa: OpaSource
  limits?: OpaLimits | undefined
  /** Counts an evaluation as work of the agent. */
  during: (work: () => Promise<void>) => Promise<void>
}

/** Evaluates policies for the server, until the agent stops. Rejects when the server refuses the token. */
export async function servePolicyRequests(claims: PolicyClaims): Promise<void> {
  const { connection, token, waitMs, deregistered } = claims
  await serveClaims(claims, {
    what: 'policy request',
    limit: LIMIT,
    claim: (agentId) => claimPolicies(connection, token, agentId, { waitMs, signal: deregistered }),
    handle: (request) =>
      claims.during(() =>
        withLogFields({ request: request.id }, async () =>
          traced('policies', { kind: 'consumer', parent: request.traceparent }, async () => handle(request, claims)),
        ),
      ),
  })
}

/** Evaluates under a lease, and reports the result. Without the lease another agent evaluates, or nobody wants the result. */
async function handle(request: PolicyRequest, claims: PolicyClaims) {
  const { connection, log, forceful } = claims
  const ended = new AbortController()
  const lost = new AbortController()
  const tooLong = new AbortController()
  const timer = setTimeout(
    () => {
      tooLong.abort(new Stopped('time-limit', `the policies were not evaluated within ${request.timeLimitMs / 1000} s`))
    },
    Math.min(request.timeLimitMs, MAX_TIMER_MS),
  )
  const unwanted = AbortSignal.any([lost.signal, forceful])
  const signal = AbortSignal.any([unwanted, tooLong.signal])
  const renewing = renew(request, claims, ended.signal).catch((error: unknown) => lost.abort(error))
  const facts = { sets: request.sets.length }
  try {
    const report = await evaluate(request, claims, signal).catch((error: unknown): ReportPolicies => {
      return { error: messageOf(tooLong.signal.aborted ? tooLong.signal.reason : error) }
    })
    if (unwanted.aborted) return log.warn({ ...facts, reason: messageOf(unwanted.reason) }, 'evaluation dropped')
    log.info({ ...facts, ...('error' in report && { reason: report.error }) }, 'policies evaluated')
    await reportPolicies(connection, request, { report, signal: unwanted })
  } catch (error) {
    log.warn({ ...facts, error }, 'the result of an evaluation could not be reported')
  } finally {
    clearTimeout(timer)
    ended.abort()
    await renewing
  }
}

async function evaluate(request: PolicyRequest, claims: PolicyClaims, signal: AbortSignal): Promise<ReportPolicies> {
  const { agent, connection, limits = OPA_LIMITS } = claims
  const started = performance.now()
  const opa = await findOpa(request.opa, claims.opa, join(claims.workDir, 'opa'))
  const { directories, confinement } = agent
  const directory = await directories.create({ runId: request.id, organizationId: request.organizationId })
  try {
    // The sandbox shows a run its CLI configuration, which OPA does not need.
    await writeFile(directory.cliConfig, '', { mode: 0o600 })
    await confinement.prepare(directory)
    const receive: Parameters<typeof evaluateSet>[3] = (path, consume) =>
      getForPolicies(connection, request, { path, signal, consume })
    let inputSize = 0
    await receive('input', async (body) => (inputSize = await storeInput(body, directory, limits)))
    const evaluation: Evaluation = { opa, agent, directory, inputSize, limits, signal }
    await storeCapabilities(evaluation)
    const sets = []
    for (const [index, set] of request.sets.entries()) sets.push(await evaluateSet(set, index, evaluation, receive))
    const reported = await redactedSets(sets, evaluation)
    return { opaVersion: opa.version, durationMs: Math.round(performance.now() - started), sets: reported }
  } finally {
    await directories.remove(directory)
  }
}

/** Renews the lease until `ended`. Rejects when the server refuses that, or cannot be reached for the length of the lease. */
async function renew(request: PolicyRequest, { connection }: PolicyClaims, ended: AbortSignal) {
  const { leaseMs } = request
  while (!ended.aborted) {
    await delay(leaseMs / 4, undefined, { signal: ended }).catch(() => {})
    if (ended.aborted) return
    try {
      await renewPolicyRequest(connection, request, AbortSignal.any([ended, AbortSignal.timeout(leaseMs / 2)]))
    } catch (error) {
      if (!ended.aborted) throw error
    }
  }
}
