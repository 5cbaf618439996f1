import { invalid } from '../errors.ts'
import { isCtyType } from './cty-type.ts'
import { instanceKey, isJsonObject, type JsonObject, listField, objectField, textField } from './json-fields.ts'
import type { StateObject } from './parsed-state.ts'
import { type Sensitivity, sensitivityOfPaths } from './sensitivity.ts'

/** Objects of format 4, which engines since 0.12 write. */
export function objectsOfFormat4(state: JsonObject): StateObject[] {
  const objects: StateObject[] = []
  for (const resource of listField(state.resources, 'resources')) {
    const { mode, type, name } = resource
    if ((mode !== 'managed' && mode !== 'data') || typeof type !== 'string' || typeof name !== 'string') {
      throw invalid(`the state has a resource of mode ${JSON.stringify(mode)}, type ${JSON.stringify(type)}`)
    }
    const module = textField(resource.module)
    const provider = textField(resource.provider)
    for (const instance of listField(resource.instances, 'instances')) {
      if (textField(instance.deposed) !== '') continue
      const key = instanceKey(instance.index_key)
      const tainted = instance.status === 'tainted'
      objects.push(new Instance({ module, mode, type, name, key, provider, tainted }, instance))
    }
  }
  return objects
}

/** An object whose attributes are read when they are asked for: a comparison does, an extraction of thousands does not. */
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
    // Checked at once, so that a state with something else in this place can't be read.
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
 * The raw format wraps the value of an attribute without a static type as `{value, type}`, though the paths of sensitive
 * parts go straight through; a path that names one of the two shows that the attribute really has these fields.
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
