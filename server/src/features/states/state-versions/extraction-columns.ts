import { parseExact } from '@groundstate/contract/exact-json'
import type { App } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { type Extraction, extractState } from '../../../terraform-state/extraction.ts'
import type { StateHeader } from '../../../terraform-state/state-header.ts'
import { type SealedOutput, sealOutputs } from '../state-version-outputs/sealed-output.ts'
import { packInstances } from './packed-instances.ts'
import { storableJson, storableText } from './storable-text.ts'

/** Up to this size (bytes) a state is extracted while its request waits: 1 or 2 ms, which is less than a job costs. */
const INLINE_BYTES = 256 * 1024

/** What was extracted from a state, as columns; JSON as text. */
export type ExtractionColumns = {
  /** False until the content was extracted. */
  processed: boolean
  format: number | null
  engineVersion: string | null
  resourceCount: number
  billableCount: number | null
  modules: string | null
  providers: string | null
  resources: string | null
  instances: Buffer | null
  outputs: SealedOutput[]
}

/** The columns of a version whose content was not read yet, with the outputs that came with the request. */
export function unprocessedColumns(header: StateHeader | undefined, outputs: SealedOutput[] = []): ExtractionColumns {
  return {
    ...EMPTY,
    format: header?.kind === 'state' ? header.version : null,
    engineVersion: header?.kind === 'state' ? (header.terraformVersion ?? null) : null,
    outputs,
  }
}

const EMPTY: ExtractionColumns = {
  processed: false,
  format: null,
  engineVersion: null,
  resourceCount: 0,
  billableCount: null,
  modules: null,
  providers: null,
  resources: null,
  instances: null,
  outputs: [],
}

/**
 * Extracts a small state at once; leaves a large one, for which `raw` may be undefined, to the job. `given` are the outputs that
 * came with the request: they replace those of the same name in the state.
 */
export function extractSmallState(
  app: App,
  raw: Buffer | undefined,
  header: StateHeader,
  given: SealedOutput[],
): ExtractionColumns {
  if (header.kind === 'encrypted') return { ...unprocessedColumns(header, given), processed: true }
  if (raw === undefined || raw.length > INLINE_BYTES) return unprocessedColumns(header, given)
  try {
    return extractionColumns(app, extractState(parseExact(raw.toString('utf8'))), given)
  } catch (error) {
    // A state that can't be read is kept all the same, and shows nothing of its content.
    if (error instanceof AppError || error instanceof RangeError)
      return { ...unprocessedColumns(header, given), processed: true }
    throw error
  }
}

/** An extraction as columns, with the outputs that came with the request. */
export function extractionColumns(
  app: App,
  extraction: Extraction,
  given: readonly SealedOutput[] = [],
): ExtractionColumns {
  const { resources, instances } = extraction
  const names = new Set(given.map((output) => output.name))
  return {
    processed: true,
    format: extraction.stateVersion,
    engineVersion: extraction.engineVersion === null ? null : storableText(extraction.engineVersion),
    resourceCount: resources.reduce((sum, { type, count }) => sum + (type.startsWith('data.') ? 0 : count), 0),
    billableCount: extraction.billableCount,
    modules: storableJson(extraction.modules),
    providers: storableJson(extraction.providers),
    resources: storableJson(resources),
    instances: packInstances(instances),
    outputs: [
      ...given,
      ...sealOutputs(
        app,
        extraction.outputs.filter((output) => !names.has(output.name)),
      ),
    ],
  }
}
