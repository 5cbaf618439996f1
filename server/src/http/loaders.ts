import type { Identifier, Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../app.ts'
import { badRequest } from '../errors.ts'
import { type ApiResponse, unstored } from './responses.ts'

/** Loads resources of one or more types by id, in one query. Resources that the caller may not read are omitted. */
type TypeLoader = {
  type: string | readonly string[]
  of?: undefined
  load: (ctx: Ctx, ids: readonly string[]) => Promise<readonly Resource[]>
}

/**
 * Loads a relation whose linkage is not in the parent, for all parents in one query. The relation of parents that are missing in the result is
 * unchanged.
 */
type RelationLoader = {
  of: string
  relation: string
  /** The resources contain secrets, so the response must not be stored. */
  isSecret?: true
  load: (ctx: Ctx, parents: readonly Resource[]) => Promise<ReadonlyMap<string, Resource | readonly Resource[]>>
}

export type Loader = TypeLoader | RelationLoader

export type Loaders = { byType: ReadonlyMap<string, TypeLoader>; byRelation: ReadonlyMap<string, RelationLoader> }

export function indexLoaders(loaders: readonly Loader[]): Loaders {
  const byType = new Map<string, TypeLoader>()
  const byRelation = new Map<string, RelationLoader>()
  for (const loader of loaders) {
    if (loader.of !== undefined) add(byRelation, relationKey(loader.of, loader.relation), loader)
    else for (const type of [loader.type].flat()) add(byType, type, loader)
  }
  return { byType, byRelation }
}

function add<Value>(map: Map<string, Value>, key: string, value: Value) {
  if (map.has(key)) throw new Error(`there are two loaders for ${key}`)
  map.set(key, value)
}

/**
 * Adds the resources along `paths` (`current_run.plan`) to a document, each once, in the order of the paths and their linkage. All resources of
 * one type at one depth are loaded in one query. A document that already has `included` is unchanged.
 */
export async function addIncluded(ctx: Ctx, loaders: Loaders, response: ApiResponse, paths: ReadonlySet<string>) {
  const { document } = response
  if (paths.size === 0 || !isIncomplete(document)) return response
  const { data, ...rest } = document
  const primary = [data ?? []].flat()
  const { included, isSecret } = await loadIncluded(ctx, loaders, primary, [...paths].map(relationsOf))
  const whole = { ...response, document: { data, included, ...rest } }
  return isSecret ? unstored(whole) : whole
}

type Incomplete = { data: Resource | readonly Resource[] | null }

function isIncomplete(document: unknown): document is Incomplete {
  return typeof document === 'object' && document !== null && 'data' in document && !('included' in document)
}

/** `current_run.plan` → `current-run`, `plan`. */
function relationsOf(path: string) {
  return path.replaceAll('_', '-').split('.')
}

/** Loaded resources by type and id; undefined if not found. */
type Known = Map<string, Resource | undefined>

async function loadIncluded(
  ctx: Ctx,
  loaders: Loaders,
  primary: readonly Resource[],
  paths: readonly (readonly string[])[],
) {
  const known: Known = new Map(primary.map((resource) => [keyOf(resource), resource]))
  let isSecret = false
  const depth = Math.max(...paths.map((path) => path.length))
  for (let level = 0; level < depth; level += 1) {
    const ends = paths.filter((path) => path.length > level)
    const steps = ends.map((path) => ({
      parents: follow(known, primary, path.slice(0, level)),
      relation: path[level] ?? '',
    }))
    const used = await loadLevel(ctx, loaders, known, steps)
    isSecret ||= used.some((loader) => loader.isSecret)
  }
  const included = new Map<string, Resource>()
  for (const path of paths) {
    for (const end of path.keys()) {
      for (const resource of follow(known, primary, path.slice(0, end + 1))) included.set(keyOf(resource), resource)
    }
  }
  for (const resource of primary) included.delete(keyOf(resource))
  return { included: [...included.values()], isSecret }
}

/** The loaded resources at the end of a path of relations, each once. */
function follow(known: Known, from: readonly Resource[], relations: readonly string[]): readonly Resource[] {
  return relations.reduce((parents, relation) => {
    const keys = new Set(parents.flatMap((parent) => identifiers(parent, relation).map(keyOf)))
    return [...keys].flatMap((key) => known.get(key) ?? [])
  }, from)
}

type Step = { parents: readonly Resource[]; relation: string }

/** Loads the relations of one depth; returns the relation loaders that it used. */
async function loadLevel(ctx: Ctx, { byType, byRelation }: Loaders, known: Known, steps: readonly Step[]) {
  const parentsOf = new Map<RelationLoader, Map<string, Resource>>()
  const missing = new Map<TypeLoader, Map<string, Identifier>>()
  for (const { parents, relation } of steps) {
    for (const parent of parents) {
      const ofRelation = byRelation.get(relationKey(parent.type, relation))
      if (ofRelation) {
        entry(parentsOf, ofRelation, () => new Map()).set(parent.id, parent)
        continue
      }
      for (const identifier of identifiers(parent, relation)) {
        const ofType = byType.get(identifier.type)
        if (!ofType || known.has(keyOf(identifier))) continue
        entry(missing, ofType, () => new Map()).set(keyOf(identifier), identifier)
      }
    }
  }
  await Promise.all([
    ...[...parentsOf].map(async ([loader, parents]) => loadRelation(ctx, loader, parents, known)),
    ...[...missing].map(async ([{ load }, named]) => {
      for (const key of named.keys()) known.set(key, undefined)
      addKnown(
        known,
        await load(
          ctx,
          [...named.values()].map(({ id }) => id),
        ),
      )
    }),
  ])
  return [...parentsOf.keys()]
}

async function loadRelation(
  ctx: Ctx,
  { relation, load }: RelationLoader,
  parents: ReadonlyMap<string, Resource>,
  known: Known,
) {
  for (const [id, related] of await load(ctx, [...parents.values()])) {
    const parent = parents.get(id)
    if (!parent) continue
    const data = 'type' in related ? identifierOf(related) : related.map(identifierOf)
    parent.relationships = { ...parent.relationships, [relation]: { ...parent.relationships?.[relation], data } }
    addKnown(known, [related].flat())
  }
}

function addKnown(known: Known, resources: readonly Resource[]) {
  for (const resource of resources) if (!known.get(keyOf(resource))) known.set(keyOf(resource), resource)
}

function identifiers(parent: Resource, relation: string): readonly Identifier[] {
  return [parent.relationships?.[relation]?.data ?? []].flat()
}

function identifierOf({ type, id }: Identifier): Identifier {
  return { type, id }
}

function keyOf({ type, id }: Identifier) {
  return `${type}/${id}`
}

function relationKey(type: string, relation: string) {
  return `${type}/${relation}`
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make()
  map.set(key, value)
  return value
}

/**
 * Reads the `include` parameter: comma-separated paths in snake or kebab case. The result has the order of `offered`. Throws `bad-request` for an
 * unknown path; clients match on `Invalid include parameter`.
 */
export function readIncludes(query: Record<string, unknown>, offered: readonly string[]): ReadonlySet<string> {
  if (query['include'] === undefined) return NONE
  const paths = [query['include']].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
  const names = new Set(paths.map(snakeCase).filter((name) => name !== ''))
  const known = new Set(offered.map(snakeCase))
  for (const name of names) {
    if (known.has(name)) continue
    const choice = offered.length === 0 ? 'this endpoint offers none' : `it must be one of ${offered.join(', ')}`
    throw badRequest(`Invalid include parameter: ${name}, ${choice}`, 'include')
  }
  return new Set(offered.filter((name) => names.has(snakeCase(name))))
}

const NONE: ReadonlySet<string> = new Set()

function snakeCase(path: string) {
  return path.trim().replaceAll('-', '_')
}
