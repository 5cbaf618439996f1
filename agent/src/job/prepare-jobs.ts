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

/** Opens what the jobs of an agent share. */
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
  // What checks signatures is large, and the server's own agent as a rule does without.
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
  /** Takes over the journal of an apply whose outcome is refused, and tells it later. */
  reportLater: (journal: Journal) => void
  /** Runs the rest of a job in the background, until the signal aborts. Resolves when it ends, and never rejects. */
  runInBackground: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  /** Whether this slot would go on with the apply of a plan that it has made. */
  takesApply: () => boolean
  /** Aborts when the agent has to end soon. */
  forceful: AbortSignal
}

/** The apply that came with the response to the result of its plan, and what the engine of that was answered. */
export type Next = {
  job: AgentJob
  responses: ReturnType<Served['responses']>
  /** To be called when the apply is over: what is left of its plan has waited for that. */
  onEnd: () => void
}

/** Whether a job has begun here, and what comes next. */
export type JobEnd = { hasBegun: boolean; next?: Next | undefined }
