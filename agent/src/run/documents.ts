import { RequestRejectedError } from '../server/connection.ts'
import { LeaseLost } from '../server/job-client.ts'
import { uploadBytes, uploadFile } from './artifacts.ts'
import type { EngineSite } from './context.ts'
import { type PlanDocument, readPlan } from './plan-document.ts'
import type { PlanSchemas } from './provider-schemas.ts'
import { runToFile } from './run-engine.ts'

/** Creates the JSON of a plan file, with and without sensitive values, and uploads both. */
export async function makeDocuments(context: EngineSite, schemas: PlanSchemas): Promise<PlanDocument> {
  const { planFile, planJson } = context.directory
  await Promise.all([runToFile(context, ['show', '-json', planFile], planJson), schemas.fetched])
  const [read] = await Promise.all([redact(), uploadFile(context, 'plan-json', planJson)])
  return read

  async function redact() {
    const files = { planJson, schemas: schemas.files }
    const known = await readPlan(files).catch(() => schemas.forget())
    // Readers may crash on a document with a provider whose schema is missing.
    const isWhole = known?.unknownProviders.length === 0
    if (!isWhole) await schemas.fetchAgain()
    const read = isWhole ? known : await readPlan(files)
    await uploadBytes(context, 'plan-json-redacted', read.redacted)
    return read
  }
}

/** Maximum time for the engine to print a plan whose run continues meanwhile, in ms. */
const LIMIT_MS = 30 * 60_000

/**
 * Creates the pending documents of a plan whose outcome the server has. Reports the reason where they can't be created.
 * Rejects when the signal aborts before the server has them, or when the report fails.
 */
export async function deliverDocuments(context: EngineSite, schemas: PlanSchemas, signal: AbortSignal) {
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  const outbox: EngineSite['outbox'] = { files: [] }
  const stop = { interrupt: stopped, kill: stopped, graceMs: () => 0 }
  const made = await makeDocuments({ ...context, stop, alive: signal, outbox }, schemas).then(
    ({ counts }) => ({ files: outbox.files, counts }),
    (error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      return noDocuments('its agent could not make it', error)
    },
  )
  await context.client.sendDocuments(made, signal).catch(async (error: unknown) => {
    if (!(error instanceof RequestRejectedError)) throw error
    await context.client.sendDocuments(noDocuments('its agent could not send it', error), signal)
  })
}

/** Reported in place of the documents: the problem, and its cause if known. */
export function noDocuments(problem: string, error?: unknown) {
  const reason = error instanceof Error ? error.message : String(error)
  return { files: [], problem: (error === undefined ? problem : `${problem}: ${reason}`).slice(0, 1_000) }
}
