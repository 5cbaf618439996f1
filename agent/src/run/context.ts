import type { AgentJob, ArtifactKind, FinishJob } from '@groundstate/contract/agent'
import type { Engine } from '../engine/engine.ts'
import type { EngineEnvironment } from '../engine/environment.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Confinement } from '../isolation/confinement.ts'
import type { RunDirectories, RunSite } from '../isolation/run-directory.ts'
import type { Launcher } from '../process/launcher.ts'
import type { StopSignals } from '../process/process.ts'
import type { Watchdog } from '../process/watchdog.ts'
import type { Journal } from '../results/journal.ts'
import type { LogStream } from '../results/log-stream.ts'
import type { JobClient } from '../server/job-client.ts'

/** Content of `.terraform` after `init`, by relative path; directories come before their content, links have a target. */
export type InitResult = { workspaceId: string; entries: { path: string; text?: string; target?: string }[] }

export type AgentContext = {
  apiUrl: string
  gateway: Gateway
  directories: RunDirectories
  launcher: Launcher
  watchdog: Watchdog
  confinement: Confinement
  hooks: string | undefined
  /** Sources of providers, as in `ConfinementOptions`. */
  providerMirrors: readonly string[] | undefined
  schemaCache: string
  /** By a digest of everything that determines them, in the order of last use. */
  initResults: Map<string, InitResult>
  /** A PEM file of the certificate authorities that engines trust, if the system's are not sufficient. */
  certificates: string | undefined
}

/** Files to send with the next report of a job. */
export type Outbox = { files: { kind: ArtifactKind; bytes: Uint8Array }[] }

/** Facts about a plan that its report has whether or not it succeeds. */
export type Findings = Pick<FinishJob, 'installed'>

export type JobContext = {
  agent: AgentContext
  job: AgentJob
  client: JobClient
  log: LogStream
  engineApiUrl: Promise<string>
  engine: Engine
  stop: StopSignals
  journal: Journal
  /** Undefined for a server that expects files in separate requests. */
  outbox: Outbox | undefined
  findings: Findings
  /** Aborts when nothing more of this job can be reported. */
  alive: AbortSignal
}

/** Context to run the engine in a prepared directory and to send its results. */
export type EngineSite = RunSite &
  Pick<JobContext, 'agent' | 'client' | 'engine' | 'stop' | 'outbox' | 'alive'> & {
    /** A recovered job has no variables. */
    job: Pick<AgentJob, 'stateBytes'> & Partial<Pick<AgentJob, 'variables'>>
    environment: Pick<EngineEnvironment, 'run' | 'quiet'>
  }

export type EngineContext = JobContext &
  RunSite & {
    environment: EngineEnvironment
    /** Terraform variables that the agent sets, in place of the workspace's, by name. */
    ownVariables: Record<string, object>
    /** The SHA-256 of the configuration's archive; undefined in the directory of a plan, which needs no init. */
    archiveDigest?: string
  }
