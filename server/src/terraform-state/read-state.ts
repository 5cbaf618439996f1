import { invalid } from '../errors.ts'
import { inferredType, isCtyType } from './cty-type.ts'
import {
  instanceKey,
  isJsonObject,
  type JsonObject,
  listField,
  numberOrNull,
  objectField,
  textField,
  textOrNull,
} from './json-fields.ts'
import { outputsByName, type ParsedState, type StateObject, type StateOutput } from './parsed-state.ts'
import { type Sensitivity, sensitivityOfPaths, sensitivityOfTree } from './sensitivity.ts'

/** Reads a parsed raw or JSON state. Throws `invalid` with a detail that begins with "the state". */
export function readState(parsed: unknown): ParsedState {
  return isJsonObject(parsed) && 'format_version' in parsed ? readShowJson(parsed) : readRawState(parsed)
}

/** Reads a parsed raw state of format 3 or 4. Throws `invalid`. */
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

/** Objects of format 4, written by engines since 0.12. */
function objectsOfFormat4(state: JsonObject): StateObject[] {
  const objects: StateObject[] = []
  for (const resource of listField(state.resources, 'resources')) {
    const { mode, type, name } = resourceHead(resource, 'the state')
    const module = textField(resource.module)
    const provider = textField(resource.provider)
    // A hot loop: spreading the head into each instance made it 7 % slower.
    for (const instance of listField(resource.instances, 'instances')) {
      if (textField(instance.deposed) !== '') continue
      const key = instanceKey(instance.index_key)
      const tainted = instance.status === 'tainted'
      objects.push(new Instance({ module, mode, type, name, key, provider, tainted }, instance))
    }
  }
  return objects
}

function resourceHead({ mode, type, name }: JsonObject, noun: string) {
  if ((mode !== 'managed' && mode !== 'data') || typeof type !== 'string' || typeof name !== 'string') {
    throw invalid(`${noun} has a resource of mode ${JSON.stringify(mode)}, type ${JSON.stringify(type)}`)
  }
  return { mode, type, name } as const
}

/** An object with lazy attributes: comparisons use them, extractions of thousands of objects do not. */
class Instance implements StateObject {
  readonly module: string
  readonly mode: 'managed' | 'data'
  readonly type: string
  readonly name: string
  readonly key: string | number | undefined
  readonly provider: string
  readonly tainted: boolean
  #stored: JsonObject
  #paths: unknown
  #sensitive: { value: Sensitivity } | undefined
  #attributes: Record<string, unknown> | undefined

  constructor(head: Omit<StateObject, 'attributes' | 'sensitive'>, instance: JsonObject) {
    this.module = head.module
    this.mode = head.mode
    this.type = head.type
    this.name = head.name
    this.key = head.key
    this.provider = head.provider
    this.tainted = head.tainted
    // Checked eagerly, so that invalid attributes make the state unreadable.
    this.#stored = objectField(instance.attributes ?? instance.attributes_flat)
    this.#paths = instance.sensitive_attributes
  }

  get sensitive() {
    this.#sensitive ??= { value: sensitivityOfPaths(this.#paths) }
    return this.#sensitive.value
  }

  get attributes() {
    this.#attributes ??= unwrapped(this.#stored, this.sensitive)
    return this.#attributes
  }
}

/**
 * Unwraps attributes without a static type, which the raw format stores as `{value, type}`. The paths of sensitive parts skip the wrapper, so a
 * path with one of these fields shows that the attribute itself has them.
 */
function unwrapped(attributes: JsonObject, sensitive: Sensitivity) {
  const values: [string, unknown][] = Object.entries(attributes).map(([key, value]) => {
    if (!isJsonObject(value) || !('value' in value) || !isCtyType(value.type) || Object.keys(value).length !== 2) {
      return [key, value]
    }
    const tree = sensitive === true ? undefined : sensitive?.[key]
    const isReal = tree !== undefined && tree !== true && ('value' in tree || 'type' in tree)
    return [key, isReal ? value : value.value]
  })
  return Object.fromEntries(values)
}

/** Objects of format 3 (engines before 0.12), which are keyed by module and by texts such as `data.aws_ami.ubuntu.0`. */
function objectsOfFormat3(modules: JsonObject[]): StateObject[] {
  return modules.flatMap((module) => {
    const address = moduleAddress(module.path)
    return Object.entries(isJsonObject(module.resources) ? module.resources : {}).flatMap(([key, resource]) => {
      // Without a primary object, there are only deposed ones.
      if (!isJsonObject(resource) || !isJsonObject(resource.primary)) return []
      return [{ module: address, ...resourceKey(key), ...primaryObject(resource, resource.primary) }]
    })
  })
}

/** Outputs of the root module; those of other modules are not outputs of the workspace. */
function outputsOfFormat3(modules: JsonObject[]): StateOutput[] {
  const root = modules.find((module) => moduleAddress(module.path) === '')
  return Object.entries(isJsonObject(root?.outputs) ? root.outputs : {}).map(([name, output]) => {
    if (!isJsonObject(output)) throw invalid(`the output ${JSON.stringify(name)} is not an object`)
    const { value = null } = output
    // The types of this format (`string`, `list`, `map`) lack element types.
    return { name, sensitive: output.sensitive === true, value, type: inferredType(value) }
  })
}

/** `["root", "net", "deep"]` is `module.net.module.deep`. */
function moduleAddress(path: unknown) {
  if (!Array.isArray(path) || path[0] !== 'root')
    throw invalid(`the state has a module of path ${JSON.stringify(path)}`)
  return path
    .slice(1)
    .map((name) => `module.${String(name)}`)
    .join('.')
}

function resourceKey(key: string): Pick<StateObject, 'mode' | 'type' | 'name' | 'key'> {
  const isData = key.startsWith('data.')
  const [type, name, index, ...rest] = (isData ? key.slice('data.'.length) : key).split('.')
  if (!type || !name || rest.length > 0 || (index !== undefined && !/^\d+$/.test(index))) {
    throw invalid(
      `the state has a resource with the key ${JSON.stringify(key)}, but it must be type.name or type.name.index`,
    )
  }
  return { mode: isData ? 'data' : 'managed', type, name, key: index === undefined ? undefined : Number(index) }
}

function primaryObject(resource: JsonObject, primary: JsonObject) {
  return {
    provider: typeof resource.provider === 'string' ? resource.provider : '',
    tainted: primary.tainted === true,
    attributes: isJsonObject(primary.attributes) ? primary.attributes : {},
    sensitive: undefined,
  }
}

/** Reads a parsed document of `terraform show -json`, which has no serial and lineage. */
export function readShowJson(parsed: unknown): ParsedState {
  if (!isJsonObject(parsed) || typeof parsed.format_version !== 'string') {
    throw invalid('the JSON state has no format_version: it must be the output of "show -json"')
  }
  const values = isJsonObject(parsed.values) ? parsed.values : {}
  return {
    engineVersion: textOrNull(parsed.terraform_version),
    stateVersion: null,
    serial: null,
    lineage: null,
    objects: objectsOfModule(values.root_module),
    outputs: outputsByName(values.outputs),
  }
}

function objectsOfModule(module: unknown): StateObject[] {
  if (!isJsonObject(module)) return []
  const objects: StateObject[] = []
  for (const resource of listField(module.resources, 'resources')) {
    const head = resourceHead(resource, 'the JSON state')
    if (textField(resource.deposed_key) !== '') continue
    objects.push({
      ...head,
      module: textField(module.address),
      key: instanceKey(resource.index),
      provider: `provider[${JSON.stringify(textField(resource.provider_name))}]`,
      tainted: resource.tainted === true,
      attributes: objectField(resource.values),
      sensitive: sensitivityOfTree(resource.sensitive_values),
    })
  }
  return objects.concat(listField(module.child_modules, 'child_modules').flatMap(objectsOfModule))
}
