import { invalid } from '../errors.ts'
import { type CtyType, inferredType, isCtyType } from './cty-type.ts'
import { isJsonObject, objectField } from './json-fields.ts'
import type { Sensitivity } from './sensitivity.ts'

/** Common form of raw states of format 3 and 4 and of `terraform show -json`. */
export type ParsedState = {
  engineVersion: string | null
  /** Version of the raw format; null for a JSON state. */
  stateVersion: number | null
  serial: number | null
  lineage: string | null
  objects: StateObject[]
  outputs: StateOutput[]
}

/** An instance of a resource or data source. Deposed objects are left out. */
export type StateObject = {
  /** Address with instance keys, such as `module.net["a"].module.deep`; empty for the root module. */
  module: string
  mode: 'managed' | 'data'
  type: string
  name: string
  /** A number for `count`, a string for `for_each`. */
  key: string | number | undefined
  /** As in raw states: `provider["registry.terraform.io/hashicorp/null"]`, possibly with an alias. */
  provider: string
  tainted: boolean
  attributes: Record<string, unknown>
  sensitive: Sensitivity
}

export type StateOutput = { name: string; sensitive: boolean; value: unknown; type: CtyType }

/** Reads the outputs of format 4, JSON states and `json-state-outputs`: `{name: {sensitive, type, value}}`. */
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

/** The engine's address of an object: `module.net["a"].data.aws_ami.ubuntu[0]`. */
export function objectAddress(object: StateObject) {
  const prefix = object.module === '' ? '' : `${object.module}.`
  return `${prefix}${typeAddress(object)}.${object.name}${keyAddress(object.key)}`
}

/** The type of a managed resource, or `data.terraform_remote_state` for a data source. */
export function typeAddress({ mode, type }: Pick<StateObject, 'mode' | 'type'>) {
  return mode === 'data' ? `data.${type}` : type
}

function keyAddress(key: StateObject['key']) {
  if (key === undefined) return ''
  if (typeof key === 'number') return `[${key}]`
  // Template sequences are escaped as in HCL, the rest as in JSON.
  return `[${JSON.stringify(key).replaceAll('${', '$${').replaceAll('%{', '%%{')}]`
}
