import { invalid } from '../errors.ts'
import { instanceKey, isJsonObject, listField, objectField, textField, textOrNull } from './json-fields.ts'
import { type ParsedState, type StateObject, outputsByName } from './parsed-state.ts'
import { sensitivityOfTree } from './sensitivity.ts'

/** Reads a parsed document of `terraform show -json`, which has neither serial nor lineage. */
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
    const { mode, type, name } = resource
    if ((mode !== 'managed' && mode !== 'data') || typeof type !== 'string' || typeof name !== 'string') {
      throw invalid(`the JSON state has a resource of mode ${JSON.stringify(mode)}, type ${JSON.stringify(type)}`)
    }
    if (textField(resource.deposed_key) !== '') continue
    objects.push({
      module: textField(module.address),
      mode,
      type,
      name,
      key: instanceKey(resource.index),
      provider: `provider[${JSON.stringify(textField(resource.provider_name))}]`,
      tainted: resource.tainted === true,
      attributes: objectField(resource.values),
      sensitive: sensitivityOfTree(resource.sensitive_values),
    })
  }
  return objects.concat(listField(module.child_modules, 'child_modules').flatMap(objectsOfModule))
}
