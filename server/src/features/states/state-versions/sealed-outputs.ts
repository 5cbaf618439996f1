import { parseExact } from '@groundstate/contract/exact-json'
import { storableJson, storableText } from '@groundstate/contract/storable'
import type { Selectable } from 'kysely'
import type { App } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import type { ExtractedOutput } from '../../../terraform-state/extraction.ts'

export type OutputRow = Selectable<Schema['state_version_outputs']>

export type Output = {
  id: string
  name: string
  sensitive: boolean
  /** The JSON type, such as `array`. */
  type: string
  /** The engine's type, such as `["list","string"]`. */
  detailedType: unknown
  value: unknown
}

/** An output as columns; `value` is encrypted. */
export type SealedOutput = Omit<Output, 'detailedType' | 'value'> & { detailedType: string; value: Buffer }

export const sealedOutputValue = sealedColumn(
  'state_version_outputs.value',
  ['id'],
  ({ id }) => `state-version-outputs/${id}`,
)

function sealContext(id: string) {
  return sealedOutputValue.context({ id })
}

export function sealOutputs(app: App, outputs: readonly ExtractedOutput[]): SealedOutput[] {
  return outputs.map(({ name, type, detailedType, sensitive, json }) => {
    const id = app.newId('wsout')
    const sealed = app.secrets.seal(json, sealContext(id))
    return {
      id,
      name: storableText(name),
      type,
      detailedType: storableJson(JSON.stringify(detailedType)),
      sensitive,
      value: sealed,
    }
  })
}

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
    name: row.name,
    sensitive: row.sensitive,
    type: row.type,
    detailedType: row.detailed_type,
    value: parseExact(app.secrets.openText(row.value, sealContext(row.id))),
  }
}

/** The JSON of an output's value. */
export function openOutputJson(app: Pick<App, 'secrets'>, row: OutputRow) {
  return app.secrets.open(row.value, sealContext(row.id))
}

/** The type and value of an output as text, for comparison. */
export function comparableOutput(app: Pick<App, 'secrets'>, row: OutputRow) {
  return `${JSON.stringify(row.detailed_type)} ${app.secrets.openText(row.value, sealContext(row.id))}`
}
