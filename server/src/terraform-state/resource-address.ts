import type { StateObject } from './parsed-state.ts'

type Place = Pick<StateObject, 'module' | 'mode' | 'type' | 'name' | 'key'>

/** The full address as the engine writes it: `module.net["a"].data.aws_ami.ubuntu[0]`. */
export function objectAddress(object: Place) {
  const prefix = object.module === '' ? '' : `${object.module}.`
  return `${prefix}${typeAddress(object)}.${object.name}${keyAddress(object.key)}`
}

/** `data.terraform_remote_state` for a data source, the plain type for a managed resource. */
export function typeAddress({ mode, type }: Pick<StateObject, 'mode' | 'type'>) {
  return mode === 'data' ? `data.${type}` : type
}

function keyAddress(key: Place['key']) {
  if (key === undefined) return ''
  if (typeof key === 'number') return `[${key}]`
  // Template sequences are escaped as HCL does, the rest as JSON does.
  return `[${JSON.stringify(key).replaceAll('${', '$${').replaceAll('%{', '%%{')}]`
}
