import type { App } from '../../../app.ts'
import type { PackedExtraction } from '../../../terraform-state/packed-extraction.ts'
import type { StateHeader } from '../../../terraform-state/state-header.ts'
import { type SealedOutput, sealOutputs } from '../state-version-outputs/sealed-output.ts'

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
  /** A short list of resources, else null. */
  resources: string | null
  /** A long list of resources, packed, else null. */
  resourceList: Buffer | null
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
  resourceList: null,
  instances: null,
  outputs: [],
}

/**
 * The columns of a version whose content was examined. `extraction` is undefined where that is left to the job, and null for
 * content that can't be extracted: it is kept all the same, and shows nothing. `given` are the outputs that came with the request:
 * they replace those of the same name in the state.
 */
export function examinedColumns(
  app: App,
  { header, extraction }: { header: StateHeader; extraction?: PackedExtraction | null | undefined },
  given: SealedOutput[] = [],
): ExtractionColumns {
  if (extraction) return extractionColumns(app, extraction, given)
  const isLater = extraction === undefined && header.kind !== 'encrypted'
  return { ...unprocessedColumns(header, given), processed: !isLater }
}

/** An extraction as columns, with the outputs that came with the request. */
export function extractionColumns(
  app: App,
  { outputs, stateVersion, ...extraction }: PackedExtraction,
  given: readonly SealedOutput[] = [],
): ExtractionColumns {
  const names = new Set(given.map((output) => output.name))
  return {
    ...extraction,
    processed: true,
    format: stateVersion,
    outputs: [
      ...given,
      ...sealOutputs(
        app,
        outputs.filter((output) => !names.has(output.name)),
      ),
    ],
  }
}
