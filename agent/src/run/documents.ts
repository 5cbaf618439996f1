import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sensitiveTexts } from '@groundstate/contract/sensitive-values'
import { statsOf, writeWorldReadable } from '../process/confined-file.ts'
import { messageOf } from '../process/errors.ts'
import { RequestRejectedError } from '../server/connection.ts'
import { LeaseLost } from '../server/job-client.ts'
import { uploadBytes, uploadFile } from './artifacts.ts'
import type { EngineSite, Outbox } from './context.ts'
import { type PlanDocument, readPlan } from './plan-document.ts'
import { lockFile, lockFileDigest, runToFile } from './run-engine.ts'

/** Creates the JSON of a plan file, with and without sensitive values, and uploads both. */
export async function createDocuments(context: EngineSite, schemas: PlanSchemas): Promise<PlanDocument> {
  const { planFile, planJson } = context.directory
  await Promise.all([runToFile(context, ['show', '-json', planFile], planJson), schemas.fetched])
  const [document] = await Promise.all([redact(), uploadFile(context, 'plan-json', planJson)])
  return document

  async function redact() {
    const sensitive = (context.job.variables ?? []).filter((variable) => variable.sensitive)
    const files = { planJson, schemas: schemas.files, sensitive: [...sensitiveTexts(sensitive)] }
    let document = await readPlan(files).catch(() => schemas.remove())
    // Clients may crash on a document with a provider whose schema is missing.
    if (document?.unknownProviders.length !== 0) {
      await schemas.fetchAgain()
      document = await readPlan(files)
    }
    await uploadBytes(context, 'plan-json-redacted', document.redacted)
    return document
  }
}

/** Time limit of the pending documents, whose run continues in the meantime, in ms. */
const LIMIT_MS = 30 * 60_000

/** Creates the pending documents of a plan, or reports why that failed. Rejects when the signal aborts, or when the report fails. */
export async function deliverDocuments(context: EngineSite, schemas: PlanSchemas, signal: AbortSignal) {
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  const outbox: Outbox = { files: [] }
  const stop = { interrupt: stopped, kill: stopped, graceMs: () => 0 }
  const made = await createDocuments({ ...context, stop, alive: signal, outbox }, schemas).then(
    ({ counts }) => ({ files: outbox.files, counts }),
    (error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      return noDocuments('its agent could not create it', error)
    },
  )
  await context.client.sendDocuments(made, signal).catch(async (error: unknown) => {
    if (!(error instanceof RequestRejectedError)) throw error
    await context.client.sendDocuments(noDocuments('its agent could not send it', error), signal)
  })
}

export function noDocuments(problem: string, error?: unknown) {
  const cause = error === undefined ? '' : `: ${messageOf(error)}`
  return { files: [], problem: `${problem}${cause}` }
}

/** Files of `providers schema -json` for the providers of a plan, complete once `fetched` resolves. */
export type PlanSchemas = Awaited<ReturnType<typeof planSchemas>>

/** Uses only the provider that is built into every engine, which needs no init. */
const BUILT_IN = 'data "terraform_remote_state" "any" {\n  backend = "local"\n}\n'

/** The schemas of the providers in the lock file of an initialized directory, and of the built-in one. They depend on nothing else. */
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
  await writeWorldReadable(join(workingDirectory, 'main.tf'), BUILT_IN)
  await fetchSchemas({ ...context, workingDirectory }, path)
}

/** Replaces the file atomically: another job may be reading it. */
async function fetchSchemas(context: EngineSite, path: string) {
  const draft = `${path}.${randomUUID()}`
  try {
    await runToFile(context, ['providers', 'schema', '-json'], draft)
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  evictSchemas(context.agent.schemaCache)
}

/** Maximum size of the cached schemas, in bytes: a run determines the name of a file by its lock file. */
const MAX_SCHEMA_BYTES = 1024 ** 3

/** Creates the cache of schemas, and removes the drafts of a dead agent. */
export function openSchemaCache(workDir: string): string {
  const directory = join(workDir, 'schemas')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(directory)) if (!name.endsWith('.json')) rmSync(join(directory, name))
  evictSchemas(directory)
  return directory
}

/** Removes the oldest schemas beyond the limit. A job that needs one of them fetches it again. */
function evictSchemas(directory: string) {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'))
  const files = names.map((name) => ({ path: join(directory, name), stats: statsOf(join(directory, name)) }))
  let size = 0
  for (const { path, stats } of files.toSorted((a, b) => (b.stats?.mtimeMs ?? 0) - (a.stats?.mtimeMs ?? 0))) {
    size += stats?.size ?? 0
    if (size > MAX_SCHEMA_BYTES) rmSync(path, { force: true })
  }
}
