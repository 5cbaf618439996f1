import type { WorkKind } from '@groundstate/contract/agent'
import type { Activity } from '../activity.ts'
import type { DownloadSettings } from '../engine/engine-download.ts'
import type { ConfinementOptions } from '../isolation/confinement.ts'
import type { AgentLog } from '../log.ts'
import type { OpaLimits } from '../policy/evaluation.ts'
import type { OpaSource } from '../policy/opa.ts'

export type AgentOptions = ConfinementOptions & {
  /** Base URL of the server, such as `https://groundstate.example.com`. */
  serverUrl: string
  /** Base of the public API for engines; by default `api/v2/` below the server. */
  apiUrl?: string
  token: string
  name: string
  concurrency: number
  /** Accepted work; everything by default. */
  accepts?: readonly WorkKind[]
  engineScanIntervalMs?: number
  /** Delay before a rejected registration is sent again, in ms. */
  retryDelayMs?: number
  /** Ends the agent after one job or one request of a run task. */
  single?: boolean
  idleTimeoutMs?: number | undefined
  /** Directory of working directories and caches, for one running agent. */
  workDir: string
  /** A terraform or tofu binary, or a directory of them, in addition to PATH. */
  enginePath?: string
  /** Rejects jobs whose exact engine version is missing, instead of running them with another. */
  strictEngineVersion?: boolean
  /** Accepts no runs while there is no engine and downloads are off. Otherwise such a run fails with a message. */
  waitsForEngine?: boolean
  /** Source of engine downloads; off by default. */
  engineDownloads?: DownloadSettings | undefined
  /** A binary of OPA or a directory of them, in addition to PATH, and the source of downloads; without one there are none. */
  opa?: OpaSource
  policyLimits?: OpaLimits
  logLimitBytes?: number
  /** Maximum disk space of directories that wait for their apply, in bytes. */
  planDirectoryLimit?: number
  /** Serves the health and the metrics of the agent until disposed of. */
  monitor?: ((activity: Activity) => Promise<Disposable>) | undefined
  log: AgentLog
  /** A PEM file with the CA of the server's certificate, in addition to the public ones. */
  caFile?: string
  /** Drains the agent: it accepts no more jobs, and running ones finish. */
  signal: AbortSignal
  /** Ends running jobs as well: plans are requeued, applies interrupted. */
  forcefulSignal?: AbortSignal
  /** Maximum drain time before `forcefulSignal` takes effect, in ms; unlimited by default. */
  drainTimeoutMs?: number
}
