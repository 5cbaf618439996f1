import { createHash } from 'node:crypto'
import {
  agentJob,
  type AgentJob,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
} from '@groundstate/contract/agent'

type Command = 'continue' | 'cancel' | 'force-cancel'

/** A job on the test server, with what its agent has sent so far. */
export type TestJob = {
  id: string
  runId: string
  finished: Promise<FinishJob>
  log: () => string
  artifacts: Map<ArtifactKind, Buffer>
  /** How often its configuration was fetched. */
  fetches: () => number
  /** Resolves as soon as the log matches. */
  logged: (pattern: RegExp) => Promise<void>
  /** Answers the next heartbeat, the one under way included. */
  command: (command: Command) => void
  /** From now on the job's token is refused, as after a lost lease. */
  loseLease: () => void
  /** From now on heartbeats are refused and the engine's token is void, but what comes late is still taken, as of an apply. */
  giveUp: () => void
  /** The lease will be lost at the last moment, when the outcome arrives. */
  refuseOutcome: () => void
  /** Resolves when the documents have come that the outcome has left owing. */
  documents: Promise<DocumentsHeader>
  /** Resolves when the agent has handed the job back. */
  released: Promise<void>
}

/** A job as the test server keeps it. */
export type JobRecord = TestJob & {
  job: AgentJob
  configuration: Buffer
  bytes: Buffer
  fetched: number
  wanted: Command
  lost: boolean
  givenUp: boolean
  refusesOutcome: boolean
  /** The job that the response to its result brings. */
  next: AgentJob | undefined
  /** Its outcome has arrived. */
  ended: boolean
  onLog: Set<() => void>
  onCommand: Set<() => void>
  resolveFinished: (body: FinishJob) => void
  resolveDocuments: (header: DocumentsHeader) => void
  resolveReleased: () => void
}

/** Fields of a job that a test sets; the rest have defaults. */
export type JobInput = Partial<Omit<AgentJob, 'options' | 'id'>> & {
  options?: Partial<AgentJob['options']>
  configuration: Buffer
  /** Artifacts that the server already has, for an apply. */
  artifacts?: Map<ArtifactKind, Buffer>
}

/** Makes a job, of which nothing has arrived yet. */
export function createJob(
  input: JobInput,
  { sequence, planJobId }: { sequence: number; planJobId: string | undefined },
): JobRecord {
  const { configuration, artifacts, options, ...rest } = input
  const job = agentJob.parse({
    id: `job-${sequence}`,
    kind: 'plan',
    token: `job-token-${sequence}`,
    engineToken: `engine-token-${sequence}`,
    leaseMs: 30_000,
    runId: `run-${sequence}`,
    organizationId: 'org-acme',
    organizationName: 'acme',
    hostNames: [],
    workspaceId: 'ws-acme-net',
    workspaceName: 'net',
    // An id never gets another content.
    configurationVersionId: `cv-${createHash('sha256').update(configuration).digest('hex')}`,
    stateBytes: 0,
    stateProviders: [],
    workingDirectory: '',
    engine: { product: 'terraform', version: 'latest' },
    structuredOutput: false,
    variables: [],
    timeLimitMs: 60_000,
    graceMs: 10_000,
    takesResults: true,
    planJobId,
    ...rest,
    options: {
      isDestroy: false,
      refresh: true,
      refreshOnly: false,
      targetAddrs: [],
      replaceAddrs: [],
      allowConfigGeneration: false,
      debug: false,
      ...options,
    },
  })
  return jobRecord(job, configuration, artifacts ?? new Map())
}

function jobRecord(job: AgentJob, configuration: Buffer, artifacts: Map<ArtifactKind, Buffer>): JobRecord {
  const finished = Promise.withResolvers<FinishJob>()
  const released = Promise.withResolvers<void>()
  const documents = Promise.withResolvers<DocumentsHeader>()
  const record: JobRecord = {
    id: job.id,
    runId: job.runId,
    job,
    configuration,
    artifacts,
    bytes: Buffer.alloc(0),
    fetched: 0,
    wanted: 'continue',
    lost: false,
    givenUp: false,
    refusesOutcome: false,
    next: undefined,
    ended: false,
    onLog: new Set(),
    onCommand: new Set(),
    finished: finished.promise,
    resolveFinished: finished.resolve,
    documents: documents.promise,
    resolveDocuments: documents.resolve,
    released: released.promise,
    resolveReleased: released.resolve,
    log: () => record.bytes.toString(),
    fetches: () => record.fetched,
    logged(pattern) {
      return new Promise((resolve) => {
        const check = () => {
          if (!pattern.test(record.log())) return
          record.onLog.delete(check)
          resolve()
        }
        record.onLog.add(check)
        check()
      })
    },
    command(command) {
      record.wanted = command
      for (const wake of record.onCommand) wake()
    },
    refuseOutcome() {
      record.refusesOutcome = true
    },
    giveUp() {
      record.givenUp = true
      for (const wake of record.onCommand) wake()
    },
    loseLease() {
      record.lost = true
      for (const wake of record.onCommand) wake()
    },
  }
  return record
}
