import { createHash } from 'node:crypto'
import {
  agentJob,
  type AgentJob,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
} from '@groundstate/contract/agent'

type Command = 'continue' | 'cancel' | 'force-cancel'

/** A job on the test server, with the data that its agent has sent. */
export type TestJob = {
  id: string
  runId: string
  finished: Promise<FinishJob>
  log: () => string
  artifacts: Map<ArtifactKind, Buffer>
  /** Number of downloads of its configuration. */
  fetches: () => number
  /** Resolves when the log matches. */
  logged: (pattern: RegExp) => Promise<void>
  /** Sends a command with the next heartbeat, including a pending one. */
  command: (command: Command) => void
  /** Refuses the job's token from now on, as after a lost lease. */
  loseLease: () => void
  /** Refuses heartbeats and the engine's token from now on, but accepts late results, as for an apply. */
  giveUp: () => void
  /** Loses the lease when the outcome arrives. */
  refuseOutcome: () => void
  /** Resolves when the pending documents have arrived. */
  documents: Promise<DocumentsHeader>
  /** Resolves when the agent has requeued the job. */
  released: Promise<void>
}

/** A job as stored by the test server. */
export type JobRecord = TestJob & {
  job: AgentJob
  configuration: Buffer
  bytes: Buffer
  fetched: number
  nextCommand: Command
  lost: boolean
  givenUp: boolean
  refusesOutcome: boolean
  /** The job in the response to its result. */
  next: AgentJob | undefined
  /** Whether its outcome has arrived. */
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

/** Creates a job without any results. */
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
    // The content of an id never changes.
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
    nextCommand: 'continue',
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
      record.nextCommand = command
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
