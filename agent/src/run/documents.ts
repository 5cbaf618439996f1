import { messageOf } from '../process/errors.ts'
import { RequestRejectedError } from '../server/connection.ts'
import { LeaseLost } from '../server/job-client.ts'
import { uploadBytes, uploadFile } from './artifacts.ts'
import type { EngineSite, Outbox } from './context.ts'
import { type PlanDocument, readPlan } from './plan-document.ts'
import type { PlanSchemas } from './provider-schemas.ts'
import { runToFile } from './run-engine.ts'

/** Creates the JSON of a plan file, with and without sensitive values, and uploads both. */
export async function makeDocuments(context: EngineSite, schemas: PlanSchemas): Promise<PlanDocument> {
  const { planFile, planJson } = context.directory
  await Promise.all([runToFile(context, ['show', '-json', planFile], planJson), schemas.fetched])
  const [document] = await Promise.all([redact(), uploadFile(context, 'plan-json', planJson)])
  return document

  async function redact() {
    const files = { planJson, schemas: schemas.files }
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

/**
 * Creates the pending documents of a plan whose outcome the server has. Reports the reason if they cannot be created.
 * Rejects when the signal aborts before the server has them, or when the report fails.
 */
export async function deliverDocuments(context: EngineSite, schemas: PlanSchemas, signal: AbortSignal) {
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  const outbox: Outbox = { files: [] }
  const stop = { interrupt: stopped, kill: stopped, graceMs: () => 0 }
  const made = await makeDocuments({ ...context, stop, alive: signal, outbox }, schemas).then(
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

/** A report in place of the documents: the problem, and its cause if known. */
export function noDocuments(problem: string, error?: unknown) {
  const cause = error === undefined ? '' : `: ${messageOf(error)}`
  return { files: [], problem: `${problem}${cause}`.slice(0, 1_000) }
}
