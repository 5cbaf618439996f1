import type { WorkKind } from '@groundstate/contract/agent'
import type { DownloadSettings } from '../engine/engine-download.ts'
import type { ConfinementOptions } from '../isolation/confinement.ts'
import type { AgentLog } from '../log.ts'

/** Options of an agent. */
export type AgentOptions = ConfinementOptions & {
  /** Base URL of the server, such as `https://groundstate.example.com`. */
  serverUrl: string
  /** Base of the public API as engines call it; by default `api/v2/` below the server. */
  apiUrl?: string
  /** An agent token of the pool. */
  token: string
  name: string
  /** How many jobs run side by side. */
  concurrency: number
  /** Work that the agent accepts: plans, applies and requests of run tasks of its pool; everything by default. */
  accepts?: readonly WorkKind[]
  /** How often it looks which engines are there, in ms. */
  engineScanIntervalMs?: number
  /** How long it waits before it asks a server again that has refused it, in ms. */
  retryDelayMs?: number
  /** Ends the agent after one job or one request of a run task. */
  single?: boolean
  /** Ends the agent after this long without a job or a request of a run task, in ms. */
  idleTimeoutMs?: number | undefined
  /** Holds working directories and caches; one running agent each. */
  workDir: string
  /** A terraform or tofu binary, or a directory of them; PATH otherwise. */
  enginePath?: string
  /** Refuse jobs whose exact engine version is not there, in place of running them with another. */
  strictEngineVersion?: boolean
  /** Takes no runs while it has no engine and cannot download one. Without this such a run ends, and says what is missing. */
  waitsForEngine?: boolean
  /** Source of engine downloads; off by default. */
  engineDownloads?: DownloadSettings | undefined
  /** Maximum size of a log, in bytes. */
  logLimitBytes?: number
  /** How long and how many directories wait for their apply. */
  keepDirectoriesMs?: number
  keepDirectories?: number
  log: AgentLog
  /** A PEM file with the CA of the server's certificate, in addition to the public ones. */
  caFile?: string
  /** Ends the agent: it takes no more jobs, and those under way get to finish. */
  signal: AbortSignal
  /** Ends the jobs under way as well: plans are handed back, applies interrupted. */
  forcefulSignal?: AbortSignal
  /** Time for jobs to finish after `signal`, before `forcefulSignal` is simulated, in ms; unlimited by default. */
  drainTimeoutMs?: number
}
