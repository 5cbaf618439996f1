import { isJsonObject } from './json-fields.ts'

/** A workspace whose outputs a configuration reads; `outputs` is null if any may be read. */
export type RemoteRead = { organization: string | null; workspace: string; outputs: string[] | null }

/**
 * The outputs of workspaces that a configuration reads by `terraform_remote_state` and `tfe_outputs`; undefined if unknown. `plan` is
 * `terraform show -json` of a plan, which names the workspaces. `text` are all files of the configuration, which is searched for names
 * of outputs, since the plan does not show local values and dynamic blocks.
 */
export function remoteReads(plan: unknown, text: string): RemoteRead[] | undefined {
  const declared = new Set<string>()
  if (!addDeclared(child(child(plan, 'configuration'), 'root_module'), { inArchive: true, declared })) return undefined
  const sources = new Map<string, Source[]>()
  for (const part of ['prior_state', 'planned_values']) {
    const state = child(plan, part)
    addSources(child(child(state, 'values') ?? state, 'root_module'), sources)
  }
  const names = outputNames(text)
  const reads: RemoteRead[] = []
  for (const data of declared) {
    const readSources = sources.get(data)
    if (!readSources) return undefined
    for (const source of readSources) {
      if (source === 'unknown') return undefined
      if (source !== 'elsewhere') reads.push({ ...source, outputs: names.get(data) ?? [] })
    }
  }
  // Names in the text that the plan does not declare are in comments, or in modules that are not called.
  return reads.map((read) => (read.outputs?.includes(ANY) ? { ...read, outputs: null } : read))
}

const READERS: ReadonlySet<unknown> = new Set(['terraform_remote_state', 'tfe_outputs'])

/** Adds the readers of a module and of the modules that it calls. Returns false if one is in a module that the archive lacks. */
function addDeclared(module: unknown, { inArchive, declared }: { inArchive: boolean; declared: Set<string> }): boolean {
  for (const resource of list(child(module, 'resources'))) {
    if (child(resource, 'mode') !== 'data' || !READERS.has(child(resource, 'type'))) continue
    if (!inArchive) return false
    declared.add(`${String(child(resource, 'type'))}.${String(child(resource, 'name'))}`)
  }
  const calls = child(module, 'module_calls')
  return Object.values(isJsonObject(calls) ? calls : {}).every((call) => {
    const source = child(call, 'source')
    const isLocal = typeof source === 'string' && /^\.\.?\//.test(source)
    return addDeclared(child(call, 'module'), { inArchive: inArchive && isLocal, declared })
  })
}

type Source = Omit<RemoteRead, 'outputs'> | 'elsewhere' | 'unknown'

function addSources(module: unknown, sources: Map<string, Source[]>) {
  for (const resource of list(child(module, 'resources'))) {
    if (child(resource, 'mode') !== 'data' || !READERS.has(child(resource, 'type'))) continue
    const key = `${String(child(resource, 'type'))}.${String(child(resource, 'name'))}`
    sources.set(key, [...(sources.get(key) ?? []), sourceOf(resource)])
  }
  for (const nested of list(child(module, 'child_modules'))) addSources(nested, sources)
}

function sourceOf(resource: unknown): Source {
  const values = child(resource, 'values')
  const isState = child(resource, 'type') === 'terraform_remote_state'
  if (isState && child(values, 'backend') !== 'remote') return 'elsewhere'
  const config = isState ? child(values, 'config') : values
  const workspace = isState ? child(child(config, 'workspaces'), 'name') : child(values, 'workspace')
  const organization = child(config, 'organization')
  if (typeof workspace !== 'string') return 'unknown'
  return { organization: typeof organization === 'string' ? organization : null, workspace }
}

/** Placeholder for all outputs. */
const ANY = '*'

const REFERENCE = new RegExp(
  String.raw`\b(terraform_remote_state|tfe_outputs)\s*\.\s*([\w-]+)` +
    String.raw`((?:\s*\[[^\]]*\])?\s*\.\s*(?:outputs|values|nonsensitive_values)\s*` +
    String.raw`(?:\.\s*([A-Za-z_][\w-]*)|\[\s*"([A-Za-z_][\w-]*)"\s*\]))?`,
  'g',
)

/** The outputs that a text names for each reader; `ANY` for a reader that is used in another way. */
function outputNames(text: string) {
  const names = new Map<string, string[]>()
  for (const [, type, name, named, dotted, quoted] of text.matchAll(REFERENCE)) {
    const key = `${type}.${name}`
    const output = named === undefined ? ANY : (dotted ?? quoted ?? ANY)
    names.set(key, [...(names.get(key) ?? []), output])
  }
  return names
}

function child(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
