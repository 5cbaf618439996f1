import { z } from 'zod'

/**
 * The protocol between the server and its run agents: plain JSON over HTTP under `/api/agent/v1`. It is our own,
 * since the public API documents none. An agent has an agent token of its pool. Each job brings two short-lived tokens:
 * the job's own for the agent, which opens this protocol alone, and one for the engine, which opens the public API as the run.
 *
 * | Request | Token | Answer |
 * |---|---|---|
 * | `POST /register` `registerAgentBody` | agent | `registeredAgent` |
 * | `POST /agents/:agentId/claim` `claimBody` (long poll) | agent | 200 `agentJob`, or 204 after `waitMs` |
 * | `POST /agents/:agentId/deregister` | agent | 204; ends waiting claims with 204, keeps the leases of running jobs |
 * | `POST /jobs/:jobId/heartbeat` `heartbeatBody` (long poll) | job | `heartbeatAnswer` |
 * | `PUT /jobs/:jobId/log?offset=N` raw bytes | job | `logAnswer`; bytes below the stored size are skipped, a gap is 416 |
 * | `PUT /jobs/:jobId/artifacts/:kind` raw bytes | job | 204 |
 * | `GET /jobs/:jobId/artifacts/:kind` | job | 200 raw bytes, 404 |
 * | `GET /jobs/:jobId/configuration` | job | 200 the tar.gz archive of the configuration version |
 * | `GET /jobs/:jobId/engine-answers` | job | 200 parcel with `engineAnswersHeader`: what the public API would answer the engine |
 * | `POST /jobs/:jobId/finish` `finishBody` | job | 204; may be repeated |
 * | `POST /jobs/:jobId/result` parcel with `resultHeader` | job | 204; as the log, the files and `finish` at once; may be repeated. With `takesApply` perhaps 200 `agentJob` |
 * | `POST /jobs/:jobId/documents` parcel with `documentsHeader` | job | 204; what the outcome of a plan has left owing; may be repeated |
 * | `POST /jobs/:jobId/release` | job | 204; queues the job again: a plan at any time, an apply before it begins |
 * | `POST /agents/:agentId/claim-task` `claimTaskBody` (long poll) | agent | 200 `taskRequest`, or 204 after `waitMs` |
 * | `POST /task-requests/:requestId/answer` `answerTaskRequestBody` | request | 204; may be repeated |
 *
 * An agent that claims with `sendsReceipt` begins nothing of a job before its first heartbeat was answered. Without one the lease
 * is over after five seconds, or half of it if that is less. The job is queued again then, and a late heartbeat answered 409.
 *
 * A parcel (`parcel.ts`) has at most `MAX_PARCEL_BYTES`. Longer content goes ahead of it, by the requests for the log and for files.
 * The plan of a run that applies by itself may be reported before its JSON is made (`owesDocuments`). The server then takes
 * `plan-json` and `plan-json-redacted` of the job for a day after its end; clients that request them wait.
 *
 * An agent that tells the result of a plan with `takesApply` may get the job of the run's apply as the response, leased to it as by a
 * claim with `sendsReceipt`. A response that is lost is not given again: the job is queued again when its receipt is overdue.
 *
 * Every request may be repeated: the agent does so without a response and after a 5xx. A claim whose connection closes before
 * the response must not take a job.
 *
 * A task request is the request of a run task whose receiver only the agent's network reaches. The agent sends it once, as it
 * is, and reports what came back. It is answered 401 once no one waits for that any more.
 *
 * Once a lease is lost, the heartbeats of the job are answered 409, and so is everything else of a plan: the agent kills the
 * engine and drops it. The agent of an apply interrupts the engine. For a day the server still takes the rest of the log, the
 * errored state and the result of an apply. They don't change the final status of its run. A deleted job responds 401.
 */
export const AGENT_API = '/api/agent/v1'

/** Work that an agent may accept: plans, applies and requests of run tasks. */
export const WORK_KINDS = ['plan', 'apply', 'task'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

export const registerAgentBody = z.object({
  name: z.string().min(1).max(255),
  version: z.string().max(100),
  os: z.string().max(100),
  arch: z.string().max(100),
  /**
   * The id of an agent that is registered already: its facts have changed, or it starts again. It gets another id when there is
   * none of that id in the pool of its token.
   */
  agentId: z.string().max(100).optional(),
  /**
   * The agent has just started, and has the id from its working directory. That may be a copy: it gets another id while an agent
   * that was heard of within a minute has this one under another name or from another address.
   */
  starts: z.boolean().default(false),
  /** The engines that are there. The agent may be able to download others. */
  engines: z
    .array(z.object({ product: z.enum(['terraform', 'tofu']), version: z.string().min(1).max(100) }))
    .max(200)
    .default([]),
  /** Whether it downloads engines that are not there. Agents of earlier versions do not say so. */
  downloadsEngines: z.boolean().optional(),
  /** How many jobs it runs side by side. */
  concurrency: z.int().min(1).max(10_000).default(1),
  /** Agents of earlier versions name nothing and take runs. */
  accepts: z.array(z.enum(WORK_KINDS)).min(1).max(WORK_KINDS.length).default(['plan', 'apply']),
})

export type RegisterAgent = z.infer<typeof registerAgentBody>

export const registeredAgent = z.object({
  agentId: z.string(),
  poolId: z.string(),
  poolName: z.string().optional(),
  /** The version of the server. */
  serverVersion: z.string().optional(),
})
export type RegisteredAgent = z.infer<typeof registeredAgent>

export const agentJobKind = z.enum(['plan', 'apply'])

export const claimBody = z.object({
  /** How long the server may hold the request when there is no job, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /**
   * Runs whose working directories this agent still has. A hint, which may be outdated when a claim waits long: an
   * apply is best done by the agent that made the plan.
   */
  warmRunIds: z.array(z.string()).max(100).default([]),
  /** The jobs that the agent takes; it takes all unless it says so. */
  accepts: z.array(agentJobKind).default(['plan', 'apply']),
  /** The agent begins nothing before its first heartbeat was answered. Agents of earlier versions begin at once. */
  sendsReceipt: z.boolean().default(false),
})

/** A variable for the engine. The server has resolved precedence, so each (category, key) occurs once. */
export const jobVariable = z.object({
  key: z.string(),
  /** The text, or an HCL expression when `hcl` is set. */
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
  /**
   * For an apply: the job whose plan was accepted. A working directory of another attempt at the plan must not be
   * applied, even on the same agent.
   */
  planJobId: z.string().optional(),
  /** The bearer token of this job for the agent protocol. The engine must not see it. */
  token: z.string(),
  /** The bearer token of the engine, for the public API as this run. */
  engineToken: z.string(),
  /** The lease of this job is lost when no heartbeat arrives for this time, in ms. */
  leaseMs: z.int(),
  runId: z.string(),
  /**
   * The address of the run's page, if the command line that started the run can't know it; the plan's log begins with
   * it.
   */
  pageUrl: z.string().optional(),
  /** Runs of one organization share their providers; those of others must not see them. */
  organizationId: z.string(),
  organizationName: z.string(),
  /**
   * Host names without scheme by which configurations may refer to this server, in `terraform_remote_state` and module
   * sources.
   */
  hostNames: z.array(z.string()).default([]),
  workspaceId: z.string(),
  workspaceName: z.string(),
  projectName: z.string().optional(),
  configurationVersionId: z.string(),
  /** The size of the state before the run, in bytes. */
  stateBytes: z.int().optional(),
  /**
   * The providers of the resources in the state before the run, as the state writes them. An init installs them in addition to those of
   * the configuration. Absent while the server does not know them.
   */
  stateProviders: z.array(z.string()).optional(),
  /** Relative to the root of the archive; `''` is the root. */
  workingDirectory: z.string(),
  engine: z.object({
    product: z.enum(['terraform', 'tofu']),
    version: z.string(),
    /** The version was chosen explicitly: the job fails on an agent without it. */
    required: z.boolean().optional(),
  }),
  /** Whether logs are JSON lines of the engine (`-json`) or its text output. */
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
  /** The phase is interrupted after this time, and killed `graceMs` later, in ms. */
  timeLimitMs: z.int(),
  graceMs: z.int(),
  /** The server takes an outcome with its log and its files in one request. Servers of earlier versions do not say so. */
  takesResults: z.boolean().default(false),
  /** For a plan: the run goes on to its apply by itself, and its JSON may follow the outcome. */
  documentsMayFollow: z.boolean().default(false),
})
export type AgentJob = z.infer<typeof agentJob>

/** `cancel` is SIGINT to the engine, `force-cancel` SIGKILL to its process group. */
export const jobCommand = z.enum(['continue', 'cancel', 'force-cancel'])
export type JobCommand = z.infer<typeof jobCommand>

export const heartbeatBody = z.object({
  /** How long the server may hold the request when there is no new command, in ms. */
  waitMs: z.int().min(0).max(60_000),
  /** The last command that the agent received: the server answers at once only if there is another. */
  seen: jobCommand.default('continue'),
})

export const heartbeatResponse = z.object({ command: jobCommand })
export type HeartbeatResponse = z.infer<typeof heartbeatResponse>

export const logResponse = z.object({
  /** The bytes stored so far, which are the next offset. */
  size: z.int(),
})
export type LogResponse = z.infer<typeof logResponse>

export const artifactKind = z.enum([
  /** The engine's binary plan file. */
  'plan-file',
  /** `show -json` of the plan. */
  'plan-json',
  /** The JSON from which the command line renders the plan, with the schemas that it needs: see `redacted-plan.ts`. */
  'plan-json-redacted',
  /** The dependency lock file after init, so that an apply elsewhere installs the same providers. */
  'lock-file',
  /** Configuration generated by `-generate-config-out`. */
  'generated-configuration',
  /** The state that the engine failed to upload. */
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
  /** `canceled` when the engine stopped on request. */
  status: z.enum(['finished', 'errored', 'canceled']),
  /** Error message for users, when the log does not have it. */
  message: z.string().max(10_000).optional(),
  exitCode: z.int().nullable(),
  /** For a plan: whether applying it would change anything, including outputs, moves and imports. */
  hasChanges: z.boolean().optional(),
  /**
   * For a plan: the planned changes. For an apply: the changes that the engine reports; absent when it did not finish.
   */
  counts: resourceCounts.optional(),
  generatedConfiguration: z.boolean().optional(),
  /** The version of the engine that ran. */
  engineVersion: z.string().optional(),
  /** For a plan that is finished: its JSON follows. */
  owesDocuments: z.boolean().optional(),
})
export type FinishJob = z.infer<typeof finishBody>

/** The longest parcel, in bytes. */
export const MAX_ENVELOPE_BYTES = 4 * 1024 * 1024

/** The files of a parcel, in their order in it; sizes are in bytes. */
const envelopeFiles = z.array(z.object({ kind: artifactKind, size: z.int().min(0) })).max(10)

/** The header of a result: what follows it are the bytes of the log that the server has not got yet, and the files. */
export const resultHeader = z.object({
  outcome: finishBody,
  log: z.object({ offset: z.int().min(0), size: z.int().min(0) }).optional(),
  files: envelopeFiles,
  /** For a plan: the agent can take the run's apply at once. Agents of earlier versions claim it. */
  takesApply: z.boolean().default(false),
})
export type ResultHeader = z.infer<typeof resultHeader>

/** The header of the documents that a plan has owed. */
export const documentsHeader = z.object({
  files: envelopeFiles,
  /** Counts from the plan's JSON, which replace those from the engine's output. */
  counts: resourceCounts.optional(),
  /** Why the documents can't be had any more, for people. */
  problem: z.string().min(1).max(1000).optional(),
})
export type DocumentsHeader = z.infer<typeof documentsHeader>

/**
 * The header of what the public API would answer the engine of a job, each with the size of its body in bytes. The bodies follow in
 * their order, and then the raw state. An engine gets all else from the public API itself, and a newer server may name more.
 */
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
  /** The content of the current state, which the response about it names by this URL. Absent when there is none, or it is large. */
  state: z.object({ url: z.string(), size: z.int().min(0) }).optional(),
})
export type EngineResponsesHeader = z.infer<typeof engineResponsesHeader>

export const claimTaskBody = z.object({
  /** How long the server may hold the request when there is no task request, in ms. */
  waitMs: z.int().min(0).max(60_000),
})

export const taskRequest = z.object({
  id: z.string(),
  /** The bearer token with which the response is reported. */
  token: z.string(),
  /** A response that is reported later than this counts no more, in ms. */
  leaseMs: z.int(),
  method: z.literal('POST'),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The very bytes to send, in base64: the signature in the headers is over them. */
  body: z.base64(),
  /** CA certificates in PEM to trust in addition to the public ones. */
  ca: z.string().optional(),
  /** The limit until the first byte of the response, in ms. */
  timeoutMs: z.int(),
})
export type TaskRequest = z.infer<typeof taskRequest>

/** How much of a response's body is kept, in bytes. */
export const TASK_RESPONSE_BYTES = 64 * 1024

export const answerTaskRequestBody = z.union([
  z.object({
    /** Until the first byte of the response, in ms. */
    durationMs: z.int().min(0).max(3_600_000),
    status: z.int().min(100).max(999),
    headers: z.record(z.string(), z.string().or(z.array(z.string()))),
    /** The first `TASK_ANSWER_BYTES` of the body, in base64. */
    body: z.base64().max(Math.ceil(TASK_RESPONSE_BYTES / 3) * 4),
    isTruncated: z.boolean(),
  }),
  z.object({
    durationMs: z.int().min(0).max(3_600_000),
    /** Why no response came, for people. */
    error: z.string().min(1).max(1000),
    /** The code of the error, as Node names it: the server knows plainer words for many. */
    code: z.string().max(100).optional(),
  }),
])
export type AnswerTaskRequest = z.infer<typeof answerTaskRequestBody>
