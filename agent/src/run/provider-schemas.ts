import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeForAll } from '../process/confined-file.ts'
import type { EngineSite } from './context.ts'
import { lockFile, lockFileDigest, runToFile } from './run-engine.ts'

/** Files of `providers schema -json` that say together what there is to know of a plan's providers, once `fetched` resolves. */
export type PlanSchemas = {
  files: string[]
  fetched: Promise<unknown>
  /** Asks the engine once more for what is cached. */
  fetchAgain: () => Promise<void>
  /** Removes files that can't be read from the cache, as a full disk or a loss of power leaves them: every plan would fail by them. */
  forget: () => undefined
}

/** Uses the provider that is built into every engine, and needs neither init nor a workspace. */
const BUILT_IN = 'data "terraform_remote_state" "any" {\n  backend = "local"\n}\n'

/**
 * The schemas of the providers that a plan may use, in an initialized directory: those that the lock file pins, and the one that is
 * built in, which no lock file names. They depend on nothing else, and are cached.
 */
export async function planSchemas(context: EngineSite): Promise<PlanSchemas> {
  const builtIn = cacheFile(context, 'built in')
  const pinned = existsSync(lockFile(context)) ? [cacheFile(context, await lockFileDigest(context))] : []
  const missing = [fetchBuiltIn(context, builtIn), ...pinned.map(async (path) => fetchPinned(context, path))]
  // The engine can be asked while it plans.
  const fetched = Promise.all(missing)
  fetched.catch(() => {})
  return {
    files: [builtIn, ...pinned],
    fetched,
    fetchAgain: async () => {
      await fetchBuiltIn(context, builtIn)
      for (const path of pinned) await fetchSchemas(context, path)
    },
    forget: () => {
      for (const path of [builtIn, ...pinned]) rmSync(path, { force: true })
    },
  }
}

/** Schemas mark sensitive attributes, so they are not shared between organizations. */
function cacheFile({ engine, agent, directory }: EngineSite, name: string) {
  const key = `${directory.cache.organizationId} ${engine.product} ${engine.version} ${name}`
  return join(agent.schemaCache, `${createHash('sha256').update(key).digest('hex')}.json`)
}

async function fetchPinned(context: EngineSite, path: string) {
  if (!existsSync(path)) await fetchSchemas(context, path)
}

async function fetchBuiltIn(context: EngineSite, path: string) {
  if (existsSync(path)) return
  // The run may read there and not write, and could put nothing else in the place of the directory.
  const workingDirectory = join(context.directory.variables, 'built-in')
  mkdirSync(workingDirectory, { recursive: true, mode: 0o755 })
  await writeForAll(join(workingDirectory, 'main.tf'), BUILT_IN)
  await fetchSchemas({ ...context, workingDirectory }, path)
}

/** Written aside and renamed: another job may read the file meanwhile. */
async function fetchSchemas(context: EngineSite, path: string) {
  const draft = `${path}.${randomUUID()}`
  await runToFile(context, ['providers', 'schema', '-json'], draft)
  renameSync(draft, path)
}
