import { parseExact } from '@groundstate/contract/exact-json'
import type { Selectable } from 'kysely'
import type { App } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { ExtractedOutput } from '../../../terraform-state/extraction.ts'
import { storableJson, storableText } from '../../../terraform-state/packed-extraction.ts'

export type Output = {
  id: string
  stateVersionId: string
  name: string
  sensitive: boolean
  /** In terms of JSON, such as `array`. */
  type: string
  /** As the engine has it, such as `["list","string"]`. */
  detailedType: unknown
  value: unknown
}

/** An output as columns; `value` is encrypted. */
export type SealedOutput = {
  id: string
  name: string
  type: string
  detailedType: string
  sensitive: boolean
  value: Buffer
}

export function sealContext(id: string) {
  return `state-version-outputs/${id}`
}

export function sealOutputs(app: App, outputs: readonly ExtractedOutput[]): SealedOutput[] {
  return outputs.map(({ name, type, detailedType, sensitive, json }) => {
    const id = app.newId('wsout')
    const sealed = app.secrets.seal(json, sealContext(id))
    return { id, name: storableText(name), type, detailedType: storableJson(detailedType), sensitive, value: sealed }
  })
}

/** The outputs of one version, sealed again for a copy of it. */
export function resealOutputs(app: App, rows: readonly OutputRow[]): SealedOutput[] {
  return rows.map(({ id: original, name, type, detailed_type: detailedType, sensitive, value }) => {
    const id = app.newId('wsout')
    const sealed = app.secrets.seal(app.secrets.open(value, sealContext(original)), sealContext(id))
    return { id, name, type, detailedType: JSON.stringify(detailedType), sensitive, value: sealed }
  })
}

export function openOutput(app: Pick<App, 'secrets'>, row: OutputRow): Output {
  return {
    id: row.id,
    stateVersionId: row.state_version_id,
    name: row.name,
    sensitive: row.sensitive,
    type: row.type,
    detailedType: row.detailed_type,
    value: parseExact(app.secrets.openText(row.value, sealContext(row.id))),
  }
}

/** The value and type of an output as text, which is equal where they are. */
export function comparableOutput(app: Pick<App, 'secrets'>, row: OutputRow) {
  return `${JSON.stringify(row.detailed_type)} ${app.secrets.openText(row.value, sealContext(row.id))}`
}

export type OutputRow = Selectable<Schema['state_version_outputs']>
