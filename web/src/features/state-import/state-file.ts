import { MAX_STATE_BYTES } from '@groundstate/contract/limits'
import { byteSize } from '../../components/numbers.ts'

/** A state file with what an import shows of it. */
export type StateFile = {
  file: File
  md5: string
  serial: number
  lineage: string | undefined
  /** The engine version that wrote it. */
  writtenBy: string | undefined
  /** Managed resource instances; undefined for an encrypted state. */
  resources: number | undefined
}

/** Reads a state file. Throws an `Error` that says why it is none. */
export async function readStateFile(file: File): Promise<StateFile> {
  if (file.size > MAX_STATE_BYTES)
    throw new Error(`${file.name} has ${byteSize(file.size)}: at most ${byteSize(MAX_STATE_BYTES)} can be imported.`)
  const { md5 } = await import('@noble/hashes/legacy.js')
  const content = new Uint8Array(await file.arrayBuffer())
  const state = parsed(file.name, new TextDecoder().decode(content))
  const { serial, lineage, terraform_version: writtenBy } = state
  if ('planned_values' in state || 'values' in state)
    throw new Error(`${file.name} is the output of “show -json”, not a state. “terraform state pull” writes the state.`)
  if (typeof serial !== 'number' || !Number.isSafeInteger(serial) || serial < 0)
    throw new Error(`${file.name} is not a state: it has no serial.`)
  return {
    file,
    md5: [...md5(content)].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    serial,
    lineage: typeof lineage === 'string' && lineage !== '' ? lineage : undefined,
    writtenBy: typeof writtenBy === 'string' ? writtenBy : undefined,
    resources: 'encrypted_data' in state ? undefined : managedInstances(state),
  }
}

function parsed(name: string, text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(`${name} is not a state: it is not JSON.`, { cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Error(`${name} is not a state: it is not a JSON object.`)
}

type Listed = { mode?: unknown; instances?: unknown }

/** Counts the instances of managed resources in states of format 4, or resources in those of format 3. */
function managedInstances({ resources, modules }: Record<string, unknown>) {
  if (Array.isArray(resources))
    return (resources as readonly Listed[])
      .filter(({ mode }) => mode === 'managed')
      .reduce((sum, { instances }) => sum + (Array.isArray(instances) ? instances.length : 0), 0)
  const names = (Array.isArray(modules) ? (modules as readonly { resources?: object }[]) : []).flatMap((module) =>
    Object.keys(module.resources ?? {}),
  )
  return names.filter((name) => !name.startsWith('data.')).length
}
