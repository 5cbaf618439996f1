import { z } from 'zod'
import { claimBody, text } from './agent.ts'
import { boundedList } from './json-api.ts'

/*
 * Evaluations of policies by OPA on an agent: see `agent.ts`. A policy request has a lease, which the agent renews; one whose lease is lost
 * is claimed again, since an evaluation can be repeated. Once its result is no longer expected, or another agent has it, everything gets 401.
 */

export const claimPolicyBody = claimBody.pick({ waitMs: true })

/** A set of policies. Its archive is a gzipped tar; the policies are in the directory `policiesPath` of it, `''` for the root. */
const requestedSet = z.object({
  id: z.string(),
  policiesPath: z.string(),
  /** OPA gets them as `data.parameters`. */
  parameters: z.record(z.string(), z.string()),
  /** Keys of the parameters whose values must not be in a result. */
  sensitiveParameters: z.array(z.string()).default([]),
  policies: z.array(z.object({ name: z.string(), query: z.string() })),
})

export const policyRequest = z.object({
  id: z.string(),
  token: z.string(),
  /** The lease is lost after this time without a heartbeat of the agent, in ms. */
  leaseMs: z.int(),
  /** Maximum time for the evaluation of all sets, in ms. */
  timeLimitMs: z.int(),
  opa: z.object({
    version: z.string(),
    /** Address and SHA-256 of the binary for the agent's platform, if the site's administrators have given them. */
    url: z.string().optional(),
    sha256: z.string().optional(),
  }),
  organizationId: z.string(),
  /** W3C Trace Context of the run, if the server traces it. */
  traceparent: z.string().max(100).optional().catch(undefined),
  sets: z.array(requestedSet),
})
export type PolicyRequest = z.infer<typeof policyRequest>

/** Maximum size of a report, in bytes. */
export const MAX_POLICY_REPORT_BYTES = 8 * 1024 * 1024
/** Maximum number of elements of a policy's output that are reported, and the length of each as text, in characters. */
export const MAX_POLICY_OUTPUTS = 100
export const MAX_POLICY_OUTPUT_CHARACTERS = 4000

const reportedPolicy = z.object({
  name: z.string().max(1000),
  status: z.enum(['passed', 'failed', 'errored']),
  /** The elements that the query returned, as text: strings as they are, anything else as JSON. Without sensitive values. */
  output: boundedList(text(MAX_POLICY_OUTPUT_CHARACTERS), MAX_POLICY_OUTPUTS).default([]),
  /** The number of elements that were left out of `output`. */
  omitted: z.int().min(0).default(0),
  /** Why it errored. */
  message: text(4000).optional(),
})
export type ReportedPolicy = z.infer<typeof reportedPolicy>

export const reportPolicyBody = z.union([
  z.object({
    opaVersion: text(100),
    durationMs: z.int().min(0),
    sets: boundedList(z.object({ id: z.string().max(100), policies: boundedList(reportedPolicy, 1000) }), 1000),
  }),
  /** Nothing was evaluated: OPA is not available, for instance. */
  z.object({ error: text(4000) }),
])
export type ReportPolicies = z.infer<typeof reportPolicyBody>
