import { invalid } from '../errors.ts'
import { type CtyType, inferredType, isCtyType } from './cty-type.ts'
import { isJsonObject, objectField } from './json-fields.ts'
import type { Sensitivity } from './sensitivity.ts'

/** Common form of the three documents that describe a state: raw formats 3 and 4, and `terraform show -json`. */
export type ParsedState = {
  engineVersion: string | null
  /** The version of the raw format; null for a JSON state, which does not have one. */
  stateVersion: number | null
  serial: number | null
  lineage: string | null
  objects: StateObject[]
  outputs: StateOutput[]
}

/** One object that the engine manages or has read: an instance of a resource. Deposed objects are left out. */
export type StateObject = {
  /** The raw address with its instance keys, such as `module.net["a"].module.deep`; empty for the root module. */
  module: string
  mode: 'managed' | 'data'
  type: string
  name: string
  /** A number for `count`, a string for `for_each`. */
  key: string | number | undefined
  /** As a raw state writes it: `provider["registry.terraform.io/hashicorp/null"]`, perhaps with an alias. */
  provider: string
  tainted: boolean
  attributes: Record<string, unknown>
  sensitive: Sensitivity
}

export type StateOutput = { name: string; sensitive: boolean; value: unknown; type: CtyType }

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
