import { invalid } from '../errors.ts'
import { inferredType } from './cty-type.ts'
import { isJsonObject, type JsonObject } from './json-fields.ts'
import type { StateObject, StateOutput } from './parsed-state.ts'

/** Objects of format 3 (engines before 0.12): by module, and in it by a key such as `data.aws_ami.ubuntu.0`. */
export function objectsOfFormat3(modules: JsonObject[]): StateObject[] {
  return modules.flatMap((module) => {
    const address = moduleAddress(module.path)
    return Object.entries(isJsonObject(module.resources) ? module.resources : {}).flatMap(([key, resource]) => {
      // Without a primary object there are only deposed ones.
      if (!isJsonObject(resource) || !isJsonObject(resource.primary)) return []
      return [{ module: address, ...resourceKey(key), ...primaryObject(resource, resource.primary) }]
    })
  })
}

/** Outputs of the root module; those of other modules are not outputs of the workspace. */
export function outputsOfFormat3(modules: JsonObject[]): StateOutput[] {
  const root = modules.find((module) => moduleAddress(module.path) === '')
  return Object.entries(isJsonObject(root?.outputs) ? root.outputs : {}).map(([name, output]) => {
    if (!isJsonObject(output)) throw invalid(`the output ${JSON.stringify(name)} is not an object`)
    const { value = null } = output
    // The format's own types (`string`, `list`, `map`) do not say of what.
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
