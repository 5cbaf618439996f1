import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import type { DownloadSettings } from '../engine/engine-download.ts'
import type { EngineSearch } from '../engine/engine.ts'
import type { Gateway, Served } from '../gateway/gateway.ts'
import type { Confinement } from '../isolation/confinement.ts'
import { openRunDirectories } from '../isolation/run-directory.ts'
import type { AgentLog } from '../log.ts'
import type { Watchdog } from '../process/watchdog.ts'
import type { Journal } from '../results/journal.ts'
import type { AgentContext } from '../run/context.ts'
import type { AgentOptions } from '../settings/agent-options.ts'

type Parts = {
  workDir: string
  apiUrl: string
  gateway: Gateway
  confinement: Confinement
  watchdog: Watchdog
  certificates: string | undefined
  forceful: AbortSignal
  journals: readonly Journal[]
}

/** Opens the services shared by the jobs of an agent. */
export async function prepareJobs(
  options: AgentOptions,
  parts: Parts,
): Promise<Omit<JobSettings, 'reportLater' | 'runInBackground' | 'takesApply'>> {
  const { workDir, apiUrl, gateway, confinement, watchdog, certificates, forceful, journals } = parts
  const schemaCache = join(workDir, 'schemas')
  await mkdir(schemaCache, { recursive: true, mode: 0o700 })
  const limits = { keepMs: options.keepDirectoriesMs ?? 24 * 3_600_000, keepCount: options.keepDirectories ?? 50 }
  const roots = journals.map((journal) => journal.facts().directory?.root).filter((root) => root !== undefined)
  const directories = await openRunDirectories(workDir, limits, { ...confinement, inUse: new Set(roots) })
  const search: EngineSearch = {
    enginePath: options.enginePath,
    strict: options.strictEngineVersion ?? false,
    downloads: await openDownloads(workDir, options.engineDownloads),
  }
  return {
    agent: {
      apiUrl,
      gateway,
      directories,
      launcher: confinement.launcher,
      watchdog,
      confinement,
      hooks: options.hooks,
      schemaCache,
      initResults: new Map(),
      certificates,
    },
    workDir,
    search,
    logLimitBytes: options.logLimitBytes ?? 64 * 1024 * 1024,
    log: options.log,
    forceful,
  }
}

async function openDownloads(workDir: string, settings: DownloadSettings | undefined) {
  if (settings === undefined) return undefined
  // The signature library is large, and built-in agents rarely need it.
  const { openEngineDownloads } = await import('../engine/engine-download.ts')
  return openEngineDownloads(join(workDir, 'engines'), settings)
}

/** Settings and services shared by the jobs of an agent. */
export type JobSettings = {
  agent: AgentContext
  workDir: string
  search: EngineSearch
  /** Log output beyond this is dropped, in bytes. */
  logLimitBytes: number
  log: AgentLog
  /** Takes over the journal of an apply whose outcome is refused, and reports it later. */
  reportLater: (journal: Journal) => void
  /** Runs the rest of a job in the background, until the signal aborts. Resolves when it ends, and never rejects. */
  runInBackground: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  /** Whether this slot would continue with the apply of its plan. */
  takesApply: () => boolean
  /** Aborts when the agent shuts down soon. */
  forceful: AbortSignal
}

/** An apply that came with the response to its plan's result, and the responses that the plan's engine got. */
export type Next = {
  job: AgentJob
  responses: ReturnType<Served['responses']>
  /** Call when the apply has ended: the rest of its plan waits for that. */
  onEnd: () => void
}

/** Whether a job has begun here, and its successor. */
export type JobEnd = { hasBegun: boolean; next?: Next | undefined }
