import type { DocumentedModule, ModuleDocuments } from '@groundstate/contract/module-documents'
import type { ModuleFile, ModuleFiles } from '../../../archives/module-files.ts'
import type { ParsedHcl } from '../../../hcl/hcl.ts'

const MAX_README = { root: 256 * 1024, other: 32 * 1024 }
/** Maximum length of a description, a type or a default value. */
const MAX_TEXT = 10_000
const MAX_PROBLEMS = 100
/** Maximum length of the documents of a version as JSON: a response is printed on the event loop. */
const MAX_DOCUMENTS = 1024 * 1024

type Json = Record<string, unknown>
type Declared = Omit<DocumentedModule, 'path' | 'kind' | 'readme'>

export function isReadme(path: string) {
  return /(?:^|\/)readme\.md$/i.test(path)
}

/** Documents of the modules in an archive, from its files and their parsed configuration. */
export function documentsOf({ files, problems }: ModuleFiles, parsed: readonly ParsedHcl[]): ModuleDocuments {
  const found = [...problems]
  if (![...files, ...problems].some(({ path }) => directoryOf(path) === '' && !isReadme(path)))
    found.push({
      path: '',
      message: 'the root has no configuration file, such as main.tf: it cannot be used as a module',
    })
  const directories = Map.groupBy(files, ({ path }) => directoryOf(path))
  const bodies = new Map<string, Json[]>()
  for (const { path, body, problem } of parsed) {
    if (body === undefined) found.push({ path, message: cut(problem) })
    else bodies.set(directoryOf(path), [...(bodies.get(directoryOf(path)) ?? []), body])
  }
  const paths = [...new Set(['', ...directories.keys()])].toSorted(byKind)
  const modules = paths.map((path): DocumentedModule => ({
    path,
    kind: kindOf(path),
    readme: readmeOf(directories.get(path) ?? [], path === '' ? MAX_README.root : MAX_README.other),
    ...declaredIn(bodies.get(path) ?? []),
  }))
  return bounded({ modules, problems: found.slice(0, MAX_PROBLEMS) })
}

/** Documents within the limit: modules that exceed it are left out, which is a problem. */
function bounded({ modules, problems }: ModuleDocuments): ModuleDocuments {
  let size = 0
  const kept: DocumentedModule[] = []
  const left: ModuleDocuments['problems'] = []
  for (const module of modules) {
    size += JSON.stringify(module).length
    if (size <= MAX_DOCUMENTS) kept.push(module)
    else left.push({ path: module.path, message: 'not documented: the module declares too much' })
  }
  return { modules: kept, problems: [...problems, ...left].slice(0, MAX_PROBLEMS) }
}

function directoryOf(path: string) {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

function kindOf(path: string) {
  if (path === '') return 'root'
  return path.startsWith('modules/') ? 'submodule' : 'example'
}

const KINDS = ['root', 'submodule', 'example']

function byKind(a: string, b: string) {
  return KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b)) || (a < b ? -1 : 1)
}

function readmeOf(files: readonly ModuleFile[], limit: number) {
  const file = files.find(({ path }) => isReadme(path))
  if (!file) return null
  return { path: file.path, markdown: file.text.slice(0, limit), 'is-cut': file.isCut || file.text.length > limit }
}

/** The declarations of the files of one directory. */
function declaredIn(bodies: readonly Json[]): Declared {
  const blocks = (type: string) => bodies.flatMap((body) => labelled(body[type]))
  const settings = bodies.flatMap((body) => items(body['terraform']))
  const versions = settings.flatMap((setting) => textOf(setting['required_version']) ?? [])
  const resources = [
    ...bodies.flatMap((body) => resourcesOf(body['resource'], 'managed')),
    ...bodies.flatMap((body) => resourcesOf(body['data'], 'data')),
    ...bodies.flatMap((body) => resourcesOf(body['ephemeral'], 'ephemeral')),
  ]
  return {
    'required-version': versions.length === 0 ? null : versions.join(', '),
    inputs: blocks('variable').map(([name, block]) => {
      const sensitive = block['sensitive'] === true
      const required = !('default' in block)
      return {
        name,
        type: expressionOf(block['type']),
        description: textOf(block['description']),
        // The default of a sensitive input may be a secret.
        default: required || sensitive ? null : cut(JSON.stringify(block['default'])),
        required,
        sensitive,
      }
    }),
    outputs: blocks('output').map(([name, block]) => ({
      name,
      description: textOf(block['description']),
      sensitive: block['sensitive'] === true,
    })),
    providers: providersOf(settings, resources),
    dependencies: blocks('module').map(([name, block]) => ({
      name,
      source: textOf(block['source']) ?? '',
      version: textOf(block['version']),
    })),
    resources,
  }
}

/** `required_providers`, and the providers that only the types of resources name. */
function providersOf(settings: readonly Json[], resources: Declared['resources']): Declared['providers'] {
  const required = settings
    .flatMap((setting) => items(setting['required_providers']))
    .flatMap((each) => Object.entries(each))
    .map(([name, value]) => {
      const { source, version } = isObject(value) ? value : { source: undefined, version: value }
      return { name, source: textOf(source) ?? `hashicorp/${name}`, version: textOf(version) }
    })
  const named = new Set(required.map(({ name }) => name))
  // A type begins with the local name of its provider; `terraform_data` is built in.
  const implied = new Set(resources.map(({ type }) => type.split('_', 1)[0] ?? ''))
  return [
    ...required,
    ...[...implied]
      .filter((name) => name !== 'terraform' && !named.has(name))
      .map((name) => ({ name, source: `hashicorp/${name}`, version: null })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function resourcesOf(value: unknown, mode: Declared['resources'][number]['mode']): Declared['resources'] {
  return labelled(value, false).flatMap(([type, named]) => Object.keys(named).map((name) => ({ type, name, mode })))
}

/** Blocks with a label, sorted; a block is the first item of a list in HCL, and may be an object in JSON. */
function labelled(value: unknown, isBlock = true): [name: string, block: Json][] {
  return items(value)
    .flatMap((each) => Object.entries(each))
    .map(([name, block]): [string, Json] => [name, (isBlock ? items(block)[0] : isObject(block) ? block : {}) ?? {}])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function items(value: unknown): Json[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A literal text; null for others. */
function textOf(value: unknown) {
  return typeof value === 'string' ? cut(value.trim()) : null
}

/** `${list(string)}` without its template. */
function expressionOf(value: unknown) {
  return typeof value === 'string' ? cut(/^\$\{(.*)\}$/s.exec(value)?.[1] ?? value) : null
}

function cut(text: string) {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}
