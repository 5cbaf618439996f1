import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentOptions } from './agent-options.ts'
import type { Confinement } from './confinement.ts'
import type { DownloadSettings } from './engine-download.ts'
import type { EngineSearch } from './engine.ts'
import type { Gateway } from './gateway.ts'
import type { JobSettings } from './job-settings.ts'
import type { Journal } from './journal.ts'
import { openRunDirectories } from './run-directory.ts'
import type { Watchdog } from './watchdog.ts'

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
): Promise<Omit<JobSettings, 'tellLater' | 'beside' | 'takesApply'>> {
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
  const { openEngineDownloads } = await import('./engine-download.ts')
  return openEngineDownloads(join(workDir, 'engines'), settings)
}
