import { invalid } from '../errors.ts'
import { inferredType, isCtyType, isRecord } from './cty.ts'
import { type Sensitivity, sensitivityOfPaths, sensitivityOfTree } from './sensitivity.ts'
import { objectsOfFormat3, outputsOfFormat3 } from './state-format-3.ts'
import type { StateObject, StateOutput } from './state-object.ts'

/** What the three documents that describe a state have in common: raw formats 3 and 4, and `terraform show -json`. */
export type StateContent = {
  engineVersion: string | null
  /** The version of the raw format; null for a JSON state, which does not tell. */
  stateVersion: number | null
  serial: number | null
  lineage: string | null
  objects: StateObject[]
  outputs: StateOutput[]
}

/** Reads a parsed raw or JSON state; throws `invalid` for anything else, with a detail that begins "the state". */
export function stateContent(parsed: unknown): StateContent {
  return isRecord(parsed) && 'format_version' in parsed ? jsonStateContent(parsed) : rawStateContent(parsed)
}

/** Reads a parsed raw state of format 3 or 4. Throws `invalid`, as the others here. */
export function rawStateContent(parsed: unknown): StateContent {
  if (!isRecord(parsed)) throw invalid('the state is not a JSON object')
  const header = {
    engineVersion: textOrNull(parsed.terraform_version),
    serial: numberOrNull(parsed.serial) ?? 0,
    lineage: textOrNull(parsed.lineage),
  }
  if (parsed.version === 4) {
    return { ...header, stateVersion: 4, objects: objectsOfFormat4(parsed), outputs: outputsOf(parsed.outputs) }
  }
  if (parsed.version === 3) {
    const modules = list(parsed.modules, 'modules')
    return { ...header, stateVersion: 3, objects: objectsOfFormat3(modules), outputs: outputsOfFormat3(modules) }
  }
  throw invalid(
    `the state has format version ${JSON.stringify(parsed.version) ?? 'none'}, but only 3 and 4 can be read`,
  )
}

/** Reads a parsed document of `terraform show -json`, which has neither serial nor lineage. */
export function jsonStateContent(parsed: unknown): StateContent {
  if (!isRecord(parsed) || typeof parsed.format_version !== 'string') {
    throw invalid('the JSON state has no format_version: it must be the output of "show -json"')
  }
  const values = isRecord(parsed.values) ? parsed.values : {}
  return {
    engineVersion: textOrNull(parsed.terraform_version),
    stateVersion: null,
    serial: null,
    lineage: null,
    objects: objectsOfModule(values.root_module),
    outputs: outputsOf(values.outputs),
  }
}

function objectsOfFormat4(state: Record<string, unknown>): StateObject[] {
  const objects: StateObject[] = []
  for (const resource of list(state.resources, 'resources')) {
    const { mode, type, name } = resource
    if ((mode !== 'managed' && mode !== 'data') || typeof type !== 'string' || typeof name !== 'string') {
      throw invalid(`the state has a resource of mode ${JSON.stringify(mode)}, type ${JSON.stringify(type)}`)
    }
    const module = text(resource.module)
    const provider = text(resource.provider)
    for (const instance of list(resource.instances, 'instances')) {
      if (text(instance.deposed) !== '') continue
      const sensitive = sensitivityOfPaths(instance.sensitive_attributes)
      objects.push({
        module,
        mode,
        type,
        name,
        key: instanceKey(instance.index_key),
        provider,
        tainted: instance.status === 'tainted',
        attributes: unwrapped(record(instance.attributes ?? instance.attributes_flat), sensitive),
        sensitive,
      })
    }
  }
  return objects
}

/**
 * The raw format wraps the value of an attribute without a static type as `{value, type}`, though the paths of sensitive
 * parts go straight through; a path that names one of the two shows that the attribute really has these fields.
 */
function unwrapped(attributes: Record<string, unknown>, sensitive: Sensitivity) {
  const values: [string, unknown][] = Object.entries(attributes).map(([key, value]) => {
    if (!isRecord(value) || !('value' in value) || !isCtyType(value.type) || Object.keys(value).length !== 2) {
      return [key, value]
    }
    const tree = sensitive === true ? undefined : sensitive?.[key]
    const isReal = tree !== undefined && tree !== true && ('value' in tree || 'type' in tree)
    return [key, isReal ? value : value.value]
  })
  return Object.fromEntries(values)
}

function objectsOfModule(module: unknown): StateObject[] {
  if (!isRecord(module)) return []
  const objects: StateObject[] = []
  for (const resource of list(module.resources, 'resources')) {
    const { mode, type, name } = resource
    if ((mode !== 'managed' && mode !== 'data') || typeof type !== 'string' || typeof name !== 'string') {
      throw invalid(`the JSON state has a resource of mode ${JSON.stringify(mode)}, type ${JSON.stringify(type)}`)
    }
    if (text(resource.deposed_key) !== '') continue
    objects.push({
      module: text(module.address),
      mode,
      type,
      name,
      key: instanceKey(resource.index),
      provider: `provider[${JSON.stringify(text(resource.provider_name))}]`,
      tainted: resource.tainted === true,
      attributes: record(resource.values),
      sensitive: sensitivityOfTree(resource.sensitive_values),
    })
  }
  return objects.concat(list(module.child_modules, 'child_modules').flatMap(objectsOfModule))
}

/** Outputs as format 4, JSON states and `json-state-outputs` have them: `{name: {sensitive, type, value}}`. */
export function outputsOf(outputs: unknown): StateOutput[] {
  return Object.entries(record(outputs)).map(([name, output]) => {
    if (!isRecord(output)) throw invalid(`the output ${JSON.stringify(name)} is not an object`)
    const { value = null, type } = output
    if (type !== undefined && type !== null && !isCtyType(type)) {
      throw invalid(
        `the output ${JSON.stringify(name)} has type ${JSON.stringify(type)}, which is not a type of the engine`,
      )
    }
    return { name, sensitive: output.sensitive === true, value, type: type ?? inferredType(value) }
  })
}

function list(value: unknown, name: string): Record<string, unknown>[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && value.every(isRecord)) return value
  throw invalid(`the state's ${name} is not a list of objects`)
}

function record(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (isRecord(value)) return value
  throw invalid(`the state has ${JSON.stringify(value).slice(0, 40)} where an object belongs`)
}

function instanceKey(value: unknown) {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined
}

function text(value: unknown) {
  return typeof value === 'string' ? value : ''
}

function textOrNull(value: unknown) {
  return text(value) || null
}

function numberOrNull(value: unknown) {
  return typeof value === 'number' ? value : null
}
