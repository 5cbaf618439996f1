import { z } from 'zod'
import { boundedList, resourceId } from './json-api.ts'
import { storableText } from './storable.ts'
import { identityToken } from './workload-identity.ts'

/**
 * The protocol between the server and its run agents: plain JSON over HTTP under `/api/agent/v1`. It is our own, since the public API
 * documents none. An agent has an agent token of its pool. Each job brings two short-lived tokens: one for the agent, valid only for this
 * protocol, and one for the engine, valid for the public API as the run.
 *
 * | Request | Token | Response |
 * |---|---|---|
 * | `POST /register` `registerAgentBody` | agent | `registeredAgent` |
 * | `POST /agents/:agentId/claim` `claimBody` (long poll) | agent | 200 `agentJob`, or 204 after `waitMs` |
 * | `POST /agents/:agentId/deregister` | agent | 204; ends waiting claims with 204, keeps the leases of running jobs |
 * | `POST /jobs/:jobId/heartbeat` `heartbeatBody` (long poll) | job | `heartbeatResponse` |
 * | `PUT /jobs/:jobId/log?offset=N` raw bytes | job | `logResponse`; bytes below the stored size are skipped, a gap is 416 |
 * | `PUT /jobs/:jobId/artifacts/:kind` raw bytes | job | 204 |
 * | `GET /jobs/:jobId/artifacts/:kind` | job | 200 raw bytes, 404 |
 * | `GET /jobs/:jobId/configuration` | job | 200 the tar.gz archive of the configuration version |
 * | `GET /jobs/:jobId/engine-answers` | job | 200 envelope with `engineResponsesHeader`: prefetched responses of the public API for the engine |
 * | `POST /jobs/:jobId/finish` `finishBody` | job | 204; idempotent |
 * | `POST /jobs/:jobId/result` envelope with `resultHeader` | job | 204; log, files and `finish` in one request; idempotent. With `takesApply` perhaps 200 `agentJob` |
 * | `POST /jobs/:jobId/documents` envelope with `documentsHeader` | job | 204; artifacts of a plan that were still to upload; idempotent |
 * | `POST /jobs/:jobId/release` | job | 204; requeues the job: a plan at any time, an apply before it begins |
 * | `POST /agents/:agentId/claim-task` `claimTaskBody` (long poll) | agent | 200 `taskRequest`, or 204 after `waitMs` |
 * | `PUT /task-requests/:requestId/body` raw bytes | request | 204; the body of a long response, before the report; idempotent |
 * | `POST /task-requests/:requestId/answer` `reportTaskResponseBody` | request | 204; idempotent |
 * | `POST /agents/:agentId/claim-git` `claimGitBody` (long poll) | agent | 200 `gitRequest`, or 204 after `waitMs` |
 * | `POST /git-requests/:requestId/heartbeat` | request | 204; renews the lease |
 * | `PUT /git-requests/:requestId/archive` raw bytes | request | 204; the archive that git wrote, before the report; idempotent |
 * | `POST /git-requests/:requestId/answer` `reportGitBody` | request | 204; idempotent |
 *
 * The result of a job never fails for a single value: long text is truncated, and an invalid optional value dropped. Agents parse what they
 * report with the same schemas.
 *
 * All requests can be retried; agents do so without a response and after a 5xx. A claim whose connection closes before the response must not
 * take a job.
 *
 * With `sendsReceipt` the first heartbeat acknowledges a job: the agent begins nothing before the response to it. An unacknowledged lease
 * ends after five seconds, or half of it if that is less. The job is then requeued, and a late heartbeat gets 409.
 *
 * An envelope (`envelope.ts`) has at most `MAX_ENVELOPE_BYTES`. Longer content is uploaded before it, with the requests for the log and for
 * artifacts. The plan of an auto-apply run may be reported before its JSON is ready (`owesDocuments`). For a day after the job's end the
 * server then accepts `plan-json` and `plan-json-redacted`; clients that request them wait.
 *
 * A job whose variables configure workload identity (`workload-identity.ts`) brings tokens of the run, valid until its time limit. The agent gives
 * them only to the run, and removes them at the end of the phase. The job of a fork has none.
 *
 * The response to the result of a plan with `takesApply` may be the job of the run's apply, leased as by a claim with `sendsReceipt`. It is
 * not repeated: if it is lost, the job is requeued when its acknowledgement is overdue.
 *
 * A task request is an HTTP request to an address that is reachable only from the agent's network: that of a run task, or one to the API of a
 * host of repositories. The agent sends it once, unchanged, and reports the response. Once the response is no longer expected, the report
 * gets 401.
 *
 * A git request is an operation of git in a repository of such a host. It has a lease, which the agent renews; a request whose lease is lost
 * is claimed again, since git operations can be repeated. Once the result is no longer expected, or another agent has the request, everything
 * gets 401, and the agent ends git.
 *
 * After a lease is lost, heartbeats get 409, and so do all other requests of a plan: the agent kills the engine and drops the job. The agent
 * of an apply interrupts the engine. For a day the server still accepts the rest of the log, the errored state and the result of an apply,
 * which do not change the final status of its run. Requests of a deleted job get 401.
 */
export const AGENT_API = '/api/agent/v1'

/** Text of a report: truncated, and without characters that JSON or the database cannot store. */
export function text(maxCharacters: number) {
  return z
    .string()
    .transform((value) => storableText(value.slice(0, maxCharacters)))
    .meta({ maxLength: maxCharacters })
}

/** Work that an agent may accept. `task`: requests of run tasks; `repository`: requests to hosts of repositories, and git; `policy`: evaluations of policies. */
export const WORK_KINDS = ['plan', 'apply', 'task', 'repository', 'policy'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

export const registerAgentBody = z.object({
  name: z.string().min(1).max(255),
  version: z.string().max(100),
  os: z.string().max(100),
  arch: z.string().max(100),
  /** The id of an earlier registration, which this one updates. Without a match in the token's pool the agent gets another id. */
  agentId: z.string().max(100).optional(),
  /** The id was just read from a directory, maybe a copy: replaced if an agent of another name or address used it within the last minute. */
  starts: z.boolean().default(false),
  /** `tokenId` of the registration in that directory: shows that no other built-in agent has used the id since. Earlier versions send none. */
  formerTokenId: z.string().max(100).optional(),
  engines: z
    .array(z.object({ product: z.enum(['terraform', 'tofu']), version: z.string().min(1).max(100) }))
    .max(200)
    .default([]),
  /** Whether it downloads other engines; absent from earlier versions. */
  downloadsEngines: z.boolean().optional(),
  concurrency: z.int().min(1).max(10_000).default(1),
  /** Earlier versions omit this and accept runs. */
  accepts: z.array(z.enum(WORK_KINDS)).min(1).max(WORK_KINDS.length).default(['plan', 'apply']),
})

export type RegisterAgent = z.infer<typeof registerAgentBody>

export const registeredAgent = z.object({
  agentId: z.string(),
  poolId: z.string(),
  poolName: z.string().optional(),
  serverVersion: z.string().optional(),
  /** Id of the token of this request; absent from earlier versions. */
  tokenId: z.string().optional(),
})
export type RegisteredAgent = z.infer<typeof registeredAgent>

export const agentJobKind = z.enum(['plan', 'apply'])

export const claimBody = z.object({
  /** Duration of the long poll, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /** Runs whose working directories this agent still has: a hint, since the agent that made the plan is preferred for the apply. */
  warmRunIds: boundedList(resourceId, 100).default([]),
  accepts: z.array(agentJobKind).max(agentJobKind.options.length).default(['plan', 'apply']),
  /** The agent acknowledges jobs by their first heartbeat. Earlier versions begin at once. */
  sendsReceipt: z.boolean().default(false),
})

/** A variable for the engine. The server has resolved precedence, so each (category, key) occurs once. */
const jobVariable = z.object({
  key: z.string(),
  value: z.string(),
  hcl: z.boolean(),
  category: z.enum(['terraform', 'env']),
  sensitive: z.boolean(),
  /**
   * `override` takes precedence over the configuration's own files. Priority sets, run variables, workspace variables
   * and other sets all beat `*.auto.tfvars`. There is one level today; the field keeps the format extensible.
   */
  level: z.literal('override').default('override'),
})

export const agentJob = z.object({
  id: z.string(),
  kind: agentJobKind,
  /** For an apply: the job whose plan was accepted. The working directory of another plan attempt must not be applied. */
  planJobId: z.string().optional(),
  /** Bearer token for the agent protocol. The engine must not see it. */
  token: z.string(),
  engineToken: z.string(),
  /** The lease is lost after this time without a heartbeat, in ms. */
  leaseMs: z.int(),
  runId: z.string(),
  /** URL of the run's page, written at the start of the plan's log if the CLI that started the run cannot know it. */
  pageUrl: z.string().optional(),
  /** Runs of one organization share a provider cache, which others must not see. */
  organizationId: z.string(),
  organizationName: z.string(),
  /** Host names by which configurations may refer to this server, in `terraform_remote_state` and module sources. */
  hostNames: z.array(z.string()).default([]),
  workspaceId: z.string(),
  workspaceName: z.string(),
  projectName: z.string().optional(),
  configurationVersionId: z.string(),
  stateBytes: z.int().optional(),
  /** Providers in the state before the run, as the state writes them: init installs them too. Absent while the server does not know them. */
  stateProviders: z.array(z.string()).optional(),
  /** Relative to the root of the archive; `''` is the root. */
  workingDirectory: z.string(),
  engine: z.object({
    product: z.enum(['terraform', 'tofu']),
    version: z.string(),
    /** The version was requested explicitly: the job fails on an agent without it. */
    required: z.boolean().optional(),
  }),
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
  /** The configuration comes from a fork: the document has no sensitive values, and the agent runs no hooks. */
  withholdsSecrets: z.boolean().default(false),
  /** Private key with which git fetches modules; absent without one. The agent must remove it after the phase. */
  sshKey: z.string().optional(),
  /** Tokens by which the run proves its identity, one per audience of the workspace's variables. Earlier versions of the server send none. */
  identityTokens: z.array(identityToken).default([]),
  /** The phase is interrupted after this time, and killed `graceMs` later, in ms. */
  timeLimitMs: z.int(),
  graceMs: z.int(),
  /** The server accepts `/result`; absent from earlier versions. */
  takesResults: z.boolean().default(false),
  /** False for a plan-only run: the agent does not keep the directory of the plan. */
  mayApply: z.boolean().default(true),
  /** W3C Trace Context of the run, if the server traces it. */
  traceparent: z.string().max(100).optional().catch(undefined),
  /** For a plan of an auto-apply run: its JSON may follow the outcome. */
  documentsMayFollow: z.boolean().default(false),
})
export type AgentJob = z.infer<typeof agentJob>

/** `cancel` is SIGINT to the engine, `force-cancel` SIGKILL to its process group. */
const jobCommand = z.enum(['continue', 'cancel', 'force-cancel'])
export type JobCommand = z.infer<typeof jobCommand>

export const heartbeatBody = z.object({
  /** Duration of the long poll, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /** The last command that the agent received; another one ends the poll. */
  seen: jobCommand.default('continue'),
})

export const heartbeatResponse = z.object({ command: jobCommand })
export type HeartbeatResponse = z.infer<typeof heartbeatResponse>

/** `size` is the number of bytes stored so far, which is the next offset. */
export const logResponse = z.object({ size: z.int() })
export type LogResponse = z.infer<typeof logResponse>

export const artifactKind = z.enum([
  'plan-file',
  /** `show -json` of the plan. */
  'plan-json',
  /** The JSON from which the CLI renders the plan: see `redacted-plan.ts`. */
  'plan-json-redacted',
  /** The dependency lock file after init, so that an apply elsewhere installs the same providers. */
  'lock-file',
  'generated-configuration',
  'errored-state',
])
export type ArtifactKind = z.infer<typeof artifactKind>

export const MAX_ARTIFACT_BYTES = 1024 ** 3

const count = z.int32().min(0)
export const resourceCounts = z.object({ additions: count, changes: count, destructions: count, imports: count })
export type ResourceCounts = z.infer<typeof resourceCounts>

/** At most this many modules and as many providers are reported. */
export const MAX_INSTALLED = 200

/** A module or provider of the server's registry, without its host and without the directory of a submodule. */
const installedPart = z.object({ address: z.string().max(300), version: z.string().max(128) })
const installedParts = z.object({
  /** By addresses of the form `organization/name/provider`. */
  modules: boundedList(installedPart, MAX_INSTALLED),
  /** By addresses of the form `organization/type`. */
  providers: boundedList(installedPart, MAX_INSTALLED),
})
export type InstalledParts = z.infer<typeof installedParts>

export const finishBody = z.object({
  /** `canceled` when the engine stopped on request. */
  status: z.enum(['finished', 'errored', 'canceled']),
  message: text(10_000).optional(),
  exitCode: z.int32().nullable().catch(null),
  /** For a plan: whether applying it would change anything, including outputs, moves and imports. */
  hasChanges: z.boolean().optional(),
  /** The planned changes of a plan; the applied changes of an apply, if the engine reports them as JSON. */
  counts: resourceCounts.optional().catch(undefined),
  generatedConfiguration: z.boolean().optional(),
  engineVersion: z.string().max(100).optional().catch(undefined),
  owesDocuments: z.boolean().optional(),
  /** For a plan: the parts that init has installed from the server's registry. Absent if they are unknown, and from earlier versions. */
  installed: installedParts.optional().catch(undefined),
})
export type FinishJob = z.infer<typeof finishBody>

export const MAX_ENVELOPE_BYTES = 4 * 1024 * 1024

const envelopeFiles = z.array(z.object({ kind: artifactKind, size: z.int().min(0) })).max(10)

/** The header of a result. The content is the rest of the log, then the files. */
export const resultHeader = z.object({
  outcome: finishBody,
  log: z.object({ offset: z.int().min(0), size: z.int().min(0) }).optional(),
  files: envelopeFiles,
  /** For a plan: the agent accepts the run's apply in the response. */
  takesApply: z.boolean().default(false),
})
export type ResultHeader = z.infer<typeof resultHeader>

export const documentsHeader = z.object({
  files: envelopeFiles,
  /** Counts from the plan's JSON, which replace those from the engine's output. */
  counts: resourceCounts.optional().catch(undefined),
  problem: text(1000).optional(),
})
export type DocumentsHeader = z.infer<typeof documentsHeader>

/** Prefetched responses of the public API for the engine; their bodies follow in order, then the raw state. A newer server may send more. */
export const engineResponsesHeader = z.object({
  responses: z.array(
    z.object({
      /** Path of the GET, relative to the base of the public API, without a query. */
      path: z.string(),
      status: z.int(),
      headers: z.record(z.string(), z.string()),
      size: z.int().min(0),
    }),
  ),
  /** The download URL of the current state; absent if there is none, or it is large. */
  state: z.object({ url: z.string(), size: z.int().min(0) }).optional(),
})
export type EngineResponsesHeader = z.infer<typeof engineResponsesHeader>
