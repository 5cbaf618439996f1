import { readFile, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { parseExact, printExact } from '@groundstate/contract/exact-json'
import { planCounts, planHasChanges } from '@groundstate/contract/plan-json'
import { redactedPlan } from '@groundstate/contract/redacted-plan'
import { maskedPlan } from '@groundstate/contract/sensitive-values'
import { z } from 'zod'

/** Larger documents are processed in a worker thread, in bytes. */
const LARGE = 2 * 1024 * 1024

/** Paths of the output of `show -json` and of `providers schema -json`, and the texts of sensitive variables. */
type PlanFiles = { planJson: string; schemas: string[]; sensitive: string[] }

export type PlanDocument = {
  redacted: Uint8Array
  counts: ReturnType<typeof planCounts>
  hasChanges: boolean
  /** Providers of the plan without a schema: clients may crash on such a document. */
  unknownProviders: string[]
}

/** Reads the summary of a plan's JSON, and redacts the document. */
export async function readPlan(files: PlanFiles): Promise<PlanDocument> {
  const sizes = await Promise.all([files.planJson, ...files.schemas].map(async (path) => stat(path)))
  const large = sizes.reduce((total, { size }) => total + size, 0) > LARGE
  return large ? readPlanInWorker(files) : readPlanHere(files)
}

export async function readPlanHere({ planJson, schemas, sensitive }: PlanFiles): Promise<PlanDocument> {
  const [plan, ...rest]: unknown[] = await Promise.all([planJson, ...schemas].map(readJson))
  const documents = rest.map((document) => schemaDocument.parse(document))
  const known = Object.assign({}, ...documents.map((document) => document.provider_schemas))
  const redacted = redactedPlan(plan, { ...documents[0], provider_schemas: known })
  return {
    // The server masks values too, but only those that the variables have at that time.
    redacted: Buffer.from(printExact(maskedPlan(redacted, new Set(sensitive)))),
    counts: planCounts(plan),
    hasChanges: planHasChanges(plan),
    unknownProviders: planProviders(plan).filter((name) => !(name in known)),
  }
}

function readPlanInWorker(files: PlanFiles): Promise<PlanDocument> {
  // A package has the bundled worker next to this file.
  const script = import.meta.url.endsWith('.ts') ? './plan-worker.ts' : './plan-worker.js'
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(script, import.meta.url), { workerData: files })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the worker for the plan's JSON exited with code ${code}`)))
  })
}

async function readJson(path: string): Promise<unknown> {
  return parseExact(await readFile(path, 'utf8'))
}

const schemaDocument = z.looseObject({ provider_schemas: z.record(z.string(), z.unknown()).default({}) })
const resource = z.object({ provider_name: z.string().optional() })
const planResources = z.object({
  resource_changes: z.array(resource).default([]),
  resource_drift: z.array(resource).default([]),
  deferred_changes: z.array(z.object({ resource_change: resource.optional() })).default([]),
})

function planProviders(plan: unknown): string[] {
  const { resource_changes, resource_drift, deferred_changes } = planResources.parse(plan)
  const deferred = deferred_changes.flatMap(({ resource_change }) => resource_change ?? [])
  const names = [...resource_changes, ...resource_drift, ...deferred].map(({ provider_name }) => provider_name)
  return [...new Set(names)].filter((name) => name !== undefined)
}
