import type { PolicyRequest } from '@groundstate/contract/policy-requests'
import type { App } from '../../../app.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'

/** A lease is lost after this time without a heartbeat of the agent, in ms. */
export const POLICY_LEASE_MS = 45_000

type RequestedSet = PolicyRequest['sets'][number]

/** A set to evaluate. The rules may change before the result arrives, so it has everything that the outcome shows. */
export type WorkSet = Omit<RequestedSet, 'policies'> & {
  /** SHA-256 of the rules, in hex: with `versionId` null, of attached policies. */
  digest: string
  /** The archive of a set that has not been published; otherwise it follows from `versionId` and `digest`. */
  archiveKey?: string
  name: string
  description: string
  overridable: boolean
  versionId: string | null
  commit: { sha: string; url: string } | null
  policies: (RequestedSet['policies'][number] & { level: 'advisory' | 'mandatory'; description: string })[]
}

/** The work of a policy request. OPA's input is the plan, which is a blob, and `run`. */
export type PolicyWork = {
  organizationId: string
  traceparent?: string | undefined
  /** The version of OPA, and its binaries as the site's administrators have given them. */
  opa: { version: string; archs: readonly { os: string; arch: string; url: string; sha: string | null }[] }
  planKey: string
  run: Record<string, unknown>
  sets: WorkSet[]
}

export const sealedPolicyWork = sealedColumn('policy_requests.request', ['id'], ({ id }) => `${id}/policies`)

/** Encrypts the work for its column: it contains sensitive parameters. */
export function sealWork({ secrets }: Pick<App, 'secrets'>, id: string, work: PolicyWork) {
  return secrets.seal(JSON.stringify(work), sealedPolicyWork.context({ id }))
}

export function openWork({ secrets }: Pick<App, 'secrets'>, row: { id: string; request: Buffer }) {
  return JSON.parse(secrets.openText(row.request, sealedPolicyWork.context(row))) as PolicyWork
}

export function policyRequestDocument(
  app: Pick<App, 'secrets'>,
  row: { id: string; request: Buffer; time_limit_ms: number; agent_os: string; agent_arch: string },
  token: string,
): PolicyRequest {
  const { opa, organizationId, traceparent, sets } = openWork(app, row)
  const arch = ARCHS[row.agent_arch] ?? row.agent_arch
  const binary = opa.archs.find((candidate) => candidate.os === row.agent_os && candidate.arch === arch)
  return {
    id: row.id,
    token,
    leaseMs: POLICY_LEASE_MS,
    timeLimitMs: row.time_limit_ms,
    opa: {
      version: opa.version,
      ...(binary && { url: binary.url, ...(binary.sha !== null && { sha256: binary.sha }) }),
    },
    organizationId,
    traceparent,
    sets: sets.map(({ id, policiesPath, parameters, sensitiveParameters, policies }) => ({
      id,
      policiesPath,
      parameters,
      sensitiveParameters,
      policies: policies.map(({ name, query }) => ({ name, query })),
    })),
  }
}

/** Names of OPA's releases for those that agents report. */
const ARCHS: Readonly<Record<string, string>> = { x64: 'amd64' }

/** Topic that wakes agents waiting for a policy request of the pool. */
export function policyTopic(poolId: string) {
  return `pool-policies:${poolId}`
}
