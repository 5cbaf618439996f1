import type { Selectable } from 'kysely'
import type { App } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { AppError } from '../../../errors.ts'
import { type ExtractedOutput, type Extraction, extractState } from '../../../terraform-state/extraction.ts'
import { packInstances } from './packed-instances.ts'
import type { StateHeader } from '../../../terraform-state/state-header.ts'

/** Up to this size (bytes) a state is extracted while its request waits: in 1 or 2 ms, which costs less than a job does. */
export const INLINE_BYTES = 256 * 1024

/** What was extracted from a state, as columns; JSON as text. */
export type ExtractedState = {
  /** False while the extraction is still to come. */
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
export type SealedOutput = {
  id: string
  name: string
  type: string
  detailedType: string
  sensitive: boolean
  value: Buffer
}

/** Of a version whose content was not looked into yet, with the outputs that came along. */
export function unprocessed(header: StateHeader | undefined, outputs: SealedOutput[] = []): ExtractedState {
  return {
    ...EMPTY,
    format: header?.kind === 'state' ? header.version : null,
    engineVersion: header?.kind === 'state' ? (header.terraformVersion ?? null) : null,
    outputs,
  }
}

const EMPTY: ExtractedState = {
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
 * Extracts a small state at once; leaves a large one to the job. `given` are outputs that came with the request: those in
 * the state give way to them.
 */
export function extractSmall(app: App, raw: Buffer, header: StateHeader, given: SealedOutput[]): ExtractedState {
  if (header.kind === 'encrypted') return { ...unprocessed(header, given), processed: true }
  if (raw.length > INLINE_BYTES) return unprocessed(header, given)
  try {
    return { ...extracted(app, extractState(JSON.parse(raw.toString('utf8'))), given) }
  } catch (error) {
    // A state whose inside can't be read is kept as it is; there is only nothing to show of it.
    if (error instanceof AppError || error instanceof RangeError)
      return { ...unprocessed(header, given), processed: true }
    throw error
  }
}

/** An extraction as columns. */
export function extracted(app: App, extraction: Extraction, given: readonly SealedOutput[] = []): ExtractedState {
  const { resources, instances } = extraction
  const names = new Set(given.map((output) => output.name))
  return {
    processed: true,
    format: extraction.stateVersion,
    engineVersion: extraction.engineVersion === null ? null : storable(extraction.engineVersion),
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

export function outputContext(id: string) {
  return `state-version-outputs/${id}`
}

export function sealOutputs(app: App, outputs: readonly ExtractedOutput[]): SealedOutput[] {
  return outputs.map(({ name, type, detailedType, sensitive, value }) => {
    const id = app.newId('wsout')
    const sealed = app.secrets.seal(JSON.stringify(value ?? null), outputContext(id))
    return { id, name: storable(name), type, detailedType: storableJson(detailedType), sensitive, value: sealed }
  })
}

/**
 * Names in a state may have the character U+0000 and halves of surrogate pairs, for which the database has no place: a
 * state must not be lost for them. They become U+FFFD where they are shown; the content itself keeps them.
 */
function storable(text: string) {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** As `storable`, for JSON, which writes both as escapes. Every escape is matched, so that none begins within another. */
function storableJson(value: unknown) {
  const json = JSON.stringify(value)
  if (!json.includes('\\u')) return json
  return json.replaceAll(/\\(?:u0000|ud[89a-f]..|.)/g, (escape) => (escape.length > 2 ? '\ufffd' : escape))
}

/** Outputs of one version, as those of a copy of it. */
export function resealOutputs(app: App, rows: readonly Selectable<Schema['state_version_outputs']>[]): SealedOutput[] {
  return rows.map(({ id: original, name, type, detailed_type: detailedType, sensitive, value }) => {
    const id = app.newId('wsout')
    const sealed = app.secrets.seal(app.secrets.open(value, outputContext(original)), outputContext(id))
    return { id, name, type, detailedType: JSON.stringify(detailedType), sensitive, value: sealed }
  })
}
