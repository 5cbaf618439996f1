import { invalid } from '../errors.ts'
import { type CtyType, outputType } from './cty-type.ts'
import { isJsonObject } from './json-fields.ts'
import {
  objectAddress,
  outputsByName,
  type ParsedState,
  type StateObject,
  type StateOutput,
  typeAddress,
} from './parsed-state.ts'
import { readRawState, readShowJson } from './read-state.ts'

/** Counts of instances by hyphenated type: `{"null-resource": 2, "data.terraform-remote-state": 1}`. */
type TypeCounts = Record<string, number>

/** An item of a state version's `resources`. */
type ExtractedResource = {
  name: string
  type: string
  count: number
  /** Number of tainted instances; absent for 0, to keep long lists short. */
  tainted?: number
  module: string
  provider: string
}

/** An item of `GET /workspaces/:id/resources`. */
export type ExtractedInstance = {
  address: string
  name: string
  /** `random_pet`, `data.terraform_remote_state`. */
  type: string
  module: string
  /** Without a default registry: `hashicorp/random`. */
  provider: string
  nameIndex: string | null
  /** Absent in states that an earlier version extracted. */
  tainted?: boolean
}

export type ExtractedOutput = {
  name: string
  sensitive: boolean
  /** The value as JSON, with every digit of its numbers. */
  json: string
  /** JSON type, or `dynamic` for a null. */
  type: string
  detailedType: CtyType
}

/** Data from the content of a state version. JSON states have no serial, lineage or raw format. */
export type Extraction = Omit<ParsedState, 'objects' | 'outputs'> & {
  resources: ExtractedResource[]
  /** Keys are `root` or addresses with instance keys: `module.net["a"].module.deep`. */
  modules: Record<string, TypeCounts>
  /** Keys are as in raw states: `provider["registry.terraform.io/hashicorp/null"]`. */
  providers: Record<string, TypeCounts>
  outputs: ExtractedOutput[]
  instances: ExtractedInstance[]
  /** Managed instances except `null_resource` and `terraform_data`. */
  billableCount: number
}

const UNBILLED = new Set(['null_resource', 'terraform_data'])

/** Extracts a parsed raw state of format 3 or 4. Throws `invalid`. */
export function extractState(parsed: unknown): Extraction {
  return extraction(readRawState(parsed))
}

/** Extracts a parsed `terraform show -json` document, for states with encrypted raw content. Throws `invalid`. */
export function extractJsonState(parsed: unknown): Extraction {
  return extraction(readShowJson(parsed))
}

/** Extracts a parsed `json-state-outputs`; a missing type is inferred from the value. Throws `invalid`. */
export function outputsFromJson(parsed: unknown): ExtractedOutput[] {
  if (!isJsonObject(parsed))
    throw invalid('it must be an object of outputs by name, each with sensitive, type and value')
  return outputsByName(parsed).map(extractedOutput)
}

function extraction({ objects, outputs, ...head }: ParsedState): Extraction {
  const resources = new Map<string, ExtractedResource>()
  const modules = new Map<string, Map<string, number>>()
  const providers = new Map<string, Map<string, number>>()
  let billableCount = 0
  for (const object of objects) {
    const module = moduleName(object)
    const type = typeAddress(object)
    // The lengths make the key unambiguous.
    const key = `${module.length}:${type.length}:${module}${type}${object.name}`
    let resource = resources.get(key)
    if (!resource) {
      resource = { name: object.name, type, count: 0, module, provider: object.provider }
      resources.set(key, resource)
    }
    resource.count++
    if (object.tainted) resource.tainted = (resource.tainted ?? 0) + 1
    const hyphenated = type.replaceAll('_', '-')
    increment(modules, module, hyphenated)
    increment(providers, object.provider, hyphenated)
    if (object.mode === 'managed' && !UNBILLED.has(object.type)) billableCount++
  }
  return {
    ...head,
    resources: [...resources.values()],
    modules: counts(modules),
    providers: counts(providers),
    outputs: outputs.map(extractedOutput),
    instances: objects.map(extractedInstance),
    billableCount,
  }
}

function increment(table: Map<string, Map<string, number>>, row: string, column: string) {
  const counts = table.get(row) ?? new Map<string, number>()
  table.set(row, counts)
  counts.set(column, (counts.get(column) ?? 0) + 1)
}

function counts(table: Map<string, Map<string, number>>): Record<string, TypeCounts> {
  return Object.fromEntries([...table].map(([row, counts]) => [row, Object.fromEntries(counts)]))
}

function moduleName(object: StateObject) {
  return object.module === '' ? 'root' : object.module
}

function extractedOutput({ name, sensitive, value, type }: StateOutput): ExtractedOutput {
  if (Buffer.byteLength(name) > MAX_NAME) {
    throw invalid(`the output ${JSON.stringify(name.slice(0, 40))}… has a name of more than ${MAX_NAME} bytes`)
  }
  // A type has two levels for each level of its value.
  if (isDeeper(value, MAX_LEVELS) || isDeeper(type, 2 * MAX_LEVELS)) {
    throw invalid(`the output ${JSON.stringify(name)} is nested deeper than ${MAX_LEVELS} levels`)
  }
  return { name, sensitive, json: JSON.stringify(value ?? null), type: outputType(type), detailedType: type }
}

/** Maximum size of a name in an index of the database, in bytes. */
const MAX_NAME = 2000
/** Deeper values overflow the stack when they are parsed or serialised. */
const MAX_LEVELS = 500

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

function extractedInstance(object: StateObject): ExtractedInstance {
  return {
    address: objectAddress(object),
    name: object.name,
    type: typeAddress(object),
    module: moduleName(object),
    provider: shortProvider(object.provider),
    nameIndex: object.key === undefined ? null : String(object.key),
    tainted: object.tainted,
  }
}

/** Shortens `module.a.provider["registry.terraform.io/hashicorp/random"].alias` to `hashicorp/random`; format 3 has `provider.aws`. */
function shortProvider(provider: string) {
  const source =
    /provider\["([^"]+)"\]/.exec(provider)?.[1] ?? /(?:^|\.)provider\.([^.]+)/.exec(provider)?.[1] ?? provider
  return source.replace(/^registry\.(?:terraform\.io|opentofu\.org)\//, '')
}
