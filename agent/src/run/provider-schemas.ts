import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeForAll } from '../process/confined-file.ts'
import type { EngineSite } from './context.ts'
import { lockFile, lockFileDigest, runToFile } from './run-engine.ts'

/** Files of `providers schema -json` for the providers of a plan, complete once `fetched` resolves. */
export type PlanSchemas = Awaited<ReturnType<typeof planSchemas>>

/** Uses only the provider that is built into every engine, which needs no init. */
const BUILT_IN = 'data "terraform_remote_state" "any" {\n  backend = "local"\n}\n'

/**
 * The schemas of the providers that a plan may use, in an initialized directory: those in the lock file, and the built-in one, which no
 * lock file lists. They depend on nothing else, and are cached.
 */
export async function planSchemas(context: EngineSite) {
  const builtIn = cacheFile(context, 'built in')
  const pinned = existsSync(lockFile(context)) ? [cacheFile(context, await lockFileDigest(context))] : []
  const files = [builtIn, ...pinned]
  const fetchMissing = async (path: string) => {
    if (!existsSync(path)) await fetchSchemas(context, path)
  }
  // Runs concurrently with the plan.
  const fetched = Promise.all([fetchBuiltIn(context, builtIn), ...pinned.map(fetchMissing)])
  fetched.catch(() => {})
  return {
    files,
    fetched,
    /** Replaces cached schemas. */
    async fetchAgain() {
      await fetchBuiltIn(context, builtIn)
      for (const path of pinned) await fetchSchemas(context, path)
    },
    /** Removes files that a full disk or a power failure has truncated; they would fail every plan. */
    remove(): undefined {
      for (const path of files) rmSync(path, { force: true })
    },
  }
}

/** Schemas mark sensitive attributes, so they are not shared between organizations. */
function cacheFile({ engine, agent, directory }: EngineSite, name: string) {
  const key = `${directory.cache.organizationId} ${engine.product} ${engine.version} ${name}`
  return join(agent.schemaCache, `${createHash('sha256').update(key).digest('hex')}.json`)
}

async function fetchBuiltIn(context: EngineSite, path: string) {
  if (existsSync(path)) return
  // The run may read this directory, but neither write nor replace it.
  const workingDirectory = join(context.directory.variables, 'built-in')
  mkdirSync(workingDirectory, { recursive: true, mode: 0o755 })
  await writeForAll(join(workingDirectory, 'main.tf'), BUILT_IN)
  await fetchSchemas({ ...context, workingDirectory }, path)
}

/** Replaces the file atomically: another job may be reading it. */
async function fetchSchemas(context: EngineSite, path: string) {
  const draft = `${path}.${randomUUID()}`
  await runToFile(context, ['providers', 'schema', '-json'], draft)
  renameSync(draft, path)
}
