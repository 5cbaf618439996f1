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
      const sensitive = sensitivityOfPaths(instance.sensitive_attributes)
      objects.push({
        module,
        mode,
        type,
        name,
        key: instanceKey(instance.index_key),
        provider,
        tainted: instance.status === 'tainted',
        attributes: unwrapped(objectField(instance.attributes ?? instance.attributes_flat), sensitive),
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
