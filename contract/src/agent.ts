import { z } from 'zod'

/**
 * The protocol between the server and its run agents. It is plain JSON over HTTP under `/api/agent/v1`, our own, since
 * the public API documents none. An agent holds an agent token of its pool; each job brings a short-lived job token, with
 * which both the agent and the engine that it starts speak to the server until the job ends.
 *
 * | Request | Token | Answer |
 * |---|---|---|
 * | `POST /register` `registerAgentBody` | agent | `registeredAgent` |
 * | `POST /agents/:agentId/claim` `claimBody` (long poll) | agent | 200 `agentJob`, or 204 when none came in `waitMs` |
 * | `POST /agents/:agentId/deregister` | agent | 204; takes no more jobs: its waiting claims are answered 204 at once, its running jobs keep their leases |
 * | `POST /jobs/:jobId/heartbeat` `heartbeatBody` (long poll) | job | `heartbeatAnswer` |
 * | `PUT /jobs/:jobId/log?offset=N` raw bytes | job | `logAnswer`; bytes below the stored size are skipped, a gap is 416 |
 * | `PUT /jobs/:jobId/artifacts/:kind` raw bytes | job | 204 |
 * | `GET /jobs/:jobId/artifacts/:kind` | job | 200 raw bytes, 404 |
 * | `GET /jobs/:jobId/configuration` | job | 200 the tar.gz archive of the configuration version |
 * | `POST /jobs/:jobId/finish` `finishBody` | job | 204; sending it again is harmless |
 * | `POST /jobs/:jobId/release` | job | 204; hands a job back, it is queued again: an apply before it has begun, a plan at any time |
 *
 * Every request may be sent again: the agent repeats what got no answer or a 5xx until its lease has run out. A claim whose
 * connection closes before it is answered must not take a job with it.
 *
 * A job whose lease is lost answers 409 to everything (401 when its token is gone): the agent kills the engine and drops the
 * job.
 */
export const AGENT_API = '/api/agent/v1'

export const registerAgentBody = z.object({
  name: z.string().min(1).max(255),
  version: z.string(),
  os: z.string(),
  arch: z.string(),
})

export type RegisterAgent = z.infer<typeof registerAgentBody>

export const registeredAgent = z.object({ agentId: z.string(), poolId: z.string() })
export type RegisteredAgent = z.infer<typeof registeredAgent>

export const claimBody = z.object({
  /** How long the server may hold the request when there is no work, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /**
   * Runs whose working directory this agent had when it asked. A hint, since a claim may wait for long: an apply is best
   * offered first to the agent that made the plan.
   */
  warmRunIds: z.array(z.string()).max(100).default([]),
})

export const jobKind = z.enum(['plan', 'apply'])

/** A variable as the engine shall see it; the server has resolved precedence, so that each (category, key) comes once. */
export const jobVariable = z.object({
  key: z.string(),
  /** The literal text, or an HCL expression when `hcl`. */
  value: z.string(),
  hcl: z.boolean(),
  category: z.enum(['terraform', 'env']),
  sensitive: z.boolean(),
  /**
   * `override` beats everything in the configuration (priority sets, run and workspace variables, other sets alike beat
   * `*.auto.tfvars`). There is one level today; the field keeps the wire format open.
   */
  level: z.literal('override').default('override'),
})

export const agentJob = z.object({
  id: z.string(),
  kind: jobKind,
  /**
   * Of an apply: the job whose plan was accepted. A folder that another attempt at the plan has left is not the one to apply,
   * even where its agent is the same.
   */
  planJobId: z.string().optional(),
  /** Bearer token of this job: agent protocol, and the public API as this run. */
  token: z.string(),
  /** The lease is lost when no heartbeat arrives for this long, in ms. */
  leaseMs: z.int(),
  runId: z.string(),
  /** The run's page, where the command line that started the run can't know its address; a plan's log begins with it. */
  pageUrl: z.string().optional(),
  organizationName: z.string(),
  /** Names by which configurations may call this server, in `terraform_remote_state` and module sources, without scheme. */
  hostNames: z.array(z.string()).default([]),
  workspaceId: z.string(),
  workspaceName: z.string(),
  projectName: z.string().optional(),
  configurationVersionId: z.string(),
  /** Size of the state that the run begins with, in bytes. */
  stateBytes: z.int().optional(),
  /** Relative to the root of the archive; `''` is the root. */
  workingDirectory: z.string(),
  engine: z.object({
    product: z.enum(['terraform', 'tofu']),
    version: z.string(),
    /** Somebody has chosen this version: the job fails on an agent that does not have it. */
    required: z.boolean().optional(),
  }),
  /** Whether logs are the engine's JSON lines (`-json`) or its human text. */
  structuredOutput: z.boolean(),
  options: z.object({
    isDestroy: z.boolean(),
    refresh: z.boolean(),
    refreshOnly: z.boolean(),
    targetAddrs: z.array(z.string()),
    replaceAddrs: z.array(z.string()),
    allowConfigGeneration: z.boolean(),
    debug: z.boolean(),
  }),
  variables: z.array(jobVariable),
  /** The phase is interrupted after this long, and killed `graceMs` later, in ms. */
  timeLimitMs: z.int(),
  graceMs: z.int(),
})
export type AgentJob = z.infer<typeof agentJob>

/** `cancel` is SIGINT to the engine, `force-cancel` SIGKILL to its process group. */
export const jobCommand = z.enum(['continue', 'cancel', 'force-cancel'])
export type JobCommand = z.infer<typeof jobCommand>

export const heartbeatBody = z.object({
  /** How long the server may hold the request while there is nothing to say, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /** The last command that the agent knows: the server answers at once only when it has another. */
  seen: jobCommand.default('continue'),
})

export const heartbeatAnswer = z.object({ command: jobCommand })
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswer>

export const logAnswer = z.object({
  /** Bytes stored so far: the next offset. */
  size: z.int(),
})
export type LogAnswer = z.infer<typeof logAnswer>

export const artifactKind = z.enum([
  /** The engine's binary plan file. */
  'plan-file',
  /** `show -json` of the plan. */
  'plan-json',
  /** The document that the command line renders: see `redacted-plan.ts`. It carries the schemas that it needs. */
  'plan-json-redacted',
  /** The dependency lock file as it was after init, so that an apply elsewhere installs the same providers. */
  'lock-file',
  /** Configuration generated by `-generate-config-out`. */
  'generated-configuration',
  /** The state that the engine could not upload. */
  'errored-state',
])
export type ArtifactKind = z.infer<typeof artifactKind>

export const resourceCounts = z.object({
  additions: z.int(),
  changes: z.int(),
  destructions: z.int(),
  imports: z.int(),
})

export const finishBody = z.object({
  /** `canceled` when the engine stopped because it was told to. */
  status: z.enum(['finished', 'errored', 'canceled']),
  /** For people: what went wrong, when it is not in the log. */
  message: z.string().max(10_000).optional(),
  exitCode: z.int().nullable(),
  /** Of a plan: whether applying it would do anything, outputs, moves and imports included. */
  hasChanges: z.boolean().optional(),
  /** Of a plan: what it would do. Of an apply: what the engine says it did; absent when it did not get to the end. */
  counts: resourceCounts.optional(),
  generatedConfiguration: z.boolean().optional(),
  /** The engine's real version. */
  engineVersion: z.string().optional(),
})
export type FinishJob = z.infer<typeof finishBody>
