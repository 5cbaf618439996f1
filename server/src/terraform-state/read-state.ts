import { invalid } from '../errors.ts'
import { objectsOfFormat3, outputsOfFormat3 } from './format-3.ts'
import { objectsOfFormat4 } from './format-4.ts'
import { isJsonObject, listField, numberOrNull, textOrNull } from './json-fields.ts'
import type { ParsedState } from './parsed-state.ts'
import { outputsByName } from './parsed-state.ts'
import { readShowJson } from './show-json.ts'

/** Reads a parsed raw or JSON state; throws `invalid` for anything else, with a detail that begins "the state". */
export function readState(parsed: unknown): ParsedState {
  return isJsonObject(parsed) && 'format_version' in parsed ? readShowJson(parsed) : readRawState(parsed)
}

/** Reads a parsed raw state of format 3 or 4. Throws `invalid` for anything else. */
export function readRawState(parsed: unknown): ParsedState {
  if (!isJsonObject(parsed)) throw invalid('the state is not a JSON object')
  const header = {
    engineVersion: textOrNull(parsed.terraform_version),
    serial: numberOrNull(parsed.serial) ?? 0,
    lineage: textOrNull(parsed.lineage),
  }
  if (parsed.version === 4) {
    return { ...header, stateVersion: 4, objects: objectsOfFormat4(parsed), outputs: outputsByName(parsed.outputs) }
  }
  if (parsed.version === 3) {
    const modules = listField(parsed.modules, 'modules')
    return { ...header, stateVersion: 3, objects: objectsOfFormat3(modules), outputs: outputsOfFormat3(modules) }
  }
  throw invalid(
    `the state has format version ${JSON.stringify(parsed.version) ?? 'none'}, but only 3 and 4 can be read`,
  )
}
