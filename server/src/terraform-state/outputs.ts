import { invalid } from '../errors.ts'
import { inferredType, isCtyType } from './cty-type.ts'
import { isJsonObject, objectField } from './json-fields.ts'
import type { StateOutput } from './parsed-state.ts'

/** Outputs as format 4, JSON states and `json-state-outputs` have them: `{name: {sensitive, type, value}}`. */
export function outputsByName(outputs: unknown): StateOutput[] {
  return Object.entries(objectField(outputs)).map(([name, output]) => {
    if (!isJsonObject(output)) throw invalid(`the output ${JSON.stringify(name)} is not an object`)
    const { value = null, type } = output
    if (type !== undefined && type !== null && !isCtyType(type)) {
      throw invalid(
        `the output ${JSON.stringify(name)} has type ${JSON.stringify(type)}, which is not a type of the engine`,
      )
    }
    return { name, sensitive: output.sensitive === true, value, type: type ?? inferredType(value) }
  })
}
