import { createHash } from 'node:crypto'
import type { App } from '../../../app.ts'
import type { VariableRow } from './store.ts'

/** The columns that hold a value. A sensitive one is sealed under the variable's id. */
export function valueColumns(
  { secrets }: Pick<App, 'secrets'>,
  { id, sensitive, value }: { id: string; sensitive: boolean; value: string },
) {
  return sensitive
    ? { sensitive, value: null, sealed_value: secrets.seal(value, sealContext(id)) }
    : { sensitive, value, sealed_value: null }
}

/** The value of a variable in plain text, for the run that needs it. */
export function openValue({ secrets }: Pick<App, 'secrets'>, row: VariableRow) {
  return row.sealed_value === null ? (row.value ?? '') : secrets.openText(row.sealed_value, sealContext(row.id))
}

function sealContext(id: string) {
  return `variables/${id}/value`
}

export function newVersionId({ newId }: Pick<App, 'newId'>) {
  return createHash('sha256').update(newId('version')).digest('hex')
}
