import { realpathSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, normalize, sep } from 'node:path'
import { z } from 'zod'
import { type Bounds, readConfined } from './confined-file.ts'
import { factsOf } from './facts-of.ts'

/** What an init starts from, and what it leaves. */
export type InitFiles = {
  lock: string | undefined
  modules: string | undefined
  /** Whether the folders of all these modules are there. */
  hasModules: boolean
}

const moduleList = z.object({
  Modules: z.array(z.object({ Key: z.string(), Source: z.string(), Version: z.string().optional(), Dir: z.string() })),
})
type Module = z.infer<typeof moduleList>['Modules'][number]

/**
 * Whether an init would come out the same at any other time: the lock file has chosen every provider, or there are built-in ones
 * only, and every module lies in the archive or is named by its exact version or commit. What is not understood counts as not pinned.
 */
export async function isPinned(
  { before, after }: { before: InitFiles; after: InitFiles },
  place: { workingFolder: string; workingDirectory: string },
  bounds: Bounds,
): Promise<boolean> {
  if (!areProvidersPinned(before.lock, after.lock)) return false
  // The archive has brought them, and the engine has left them as they are.
  if (after.modules === undefined || (after.modules === before.modules && before.hasModules)) return true
  const modules = parseModules(after.modules)
  if (modules === undefined) return false
  for (const module of modules) {
    if (module.Key === '' || isInArchive(module, place.workingDirectory) || isCommit(module.Source)) continue
    if (module.Version === undefined || !(await isExactVersion(module, modules, { ...place, bounds }))) return false
  }
  return true
}

/** Whether the folder of each module in a list of installed modules is there, below `root`. Init fetches those that are not. */
export function hasModules(list: string | undefined, workingFolder: string, { root }: Pick<Bounds, 'root'>): boolean {
  const modules = list === undefined ? undefined : parseModules(list)
  if (modules === undefined) return false
  const top = realpathSync.native(root)
  return modules.every(({ Dir }) => isFolderIn(top, join(workingFolder, Dir)))
}

function isFolderIn(top: string, path: string): boolean {
  if (factsOf(path)?.isDirectory() !== true) return false
  const real = realpathSync.native(path)
  return real === top || real.startsWith(top + sep)
}

const SELECTION = /^provider "([^"]+)" \{\n[^}]*?^  version\s+= "([^"]+)"$([^}]*)/gm

/** An init may add checksums for its platform to what was chosen before. A choice without any checksum pins nothing. */
function areProvidersPinned(before: string | undefined, after: string | undefined): boolean {
  if (before === after) return before === undefined || selections(before) !== undefined
  if (before === undefined || after === undefined) return false
  const chosen = selections(before)
  return chosen !== undefined && chosen === selections(after)
}

function selections(lock: string): string | undefined {
  const text = lock.replaceAll('\r\n', '\n')
  const blocks = [...text.matchAll(SELECTION)]
  const count = [...text.matchAll(/^\s*provider\b/gm)].length
  if (blocks.length !== count || blocks.some(([, , , rest = '']) => !/"(h1|zh):/.test(rest))) return undefined
  return blocks
    .map(([, address, version]) => `${address} ${version}`)
    .toSorted()
    .join('\n')
}

function parseModules(text: string): Module[] | undefined {
  try {
    return moduleList.safeParse(JSON.parse(text)).data?.Modules
  } catch {
    return undefined
  }
}

function isInArchive({ Source, Dir }: Module, workingDirectory: string): boolean {
  return /^\.\.?\//.test(Source) && !Dir.startsWith('/') && !normalize(join(workingDirectory, Dir)).startsWith('..')
}

/** A shorter name of a commit could be that of a branch or of a tag, which moves. */
function isCommit(source: string): boolean {
  return source.startsWith('git::') && /[?&]ref=(?:[0-9a-f]{40}|[0-9a-f]{64})(?:&|$)/.test(source)
}

type Place = { workingFolder: string; bounds: Bounds }

/** Whether the module that calls it asks for one version: the list of installed modules has the version that came out. */
async function isExactVersion({ Key }: Module, modules: readonly Module[], { workingFolder, bounds }: Place) {
  const path = Key.split('.')
  const name = path.pop() ?? ''
  const caller = modules.find((module) => module.Key === path.join('.'))
  if (caller === undefined || !/^[\w-]+$/.test(name)) return false
  const folder = join(workingFolder, caller.Dir)
  const names = (await readdir(folder)).filter((name) => /\.(?:tf|tofu)(?:\.json)?$/.test(name))
  const versions: string[] = []
  for (const file of names) {
    const text = (await readConfined(join(folder, file), bounds))?.toString() ?? ''
    if (file.endsWith('.json')) {
      if (text.includes(`"${name}"`)) return false
    } else versions.push(...versionsIn(text, name))
  }
  return versions.length > 0 && versions.every((version) => /^=?\s*\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version))
}

/** All that could be the version of a module's block: one too many only makes it count as not pinned. */
function versionsIn(text: string, name: string): string[] {
  const plain = text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/^\s*(?:#|\/\/).*$/gm, '')
  const block = new RegExp(
    `^\\s*module\\s+"?${name}"?\\s*\\{([^]*?)(?=^\\}|^\\s*(?:module|resource|data)\\b|$(?![^]))`,
    'gm',
  )
  return [...plain.matchAll(block)].flatMap(([, body = '']) =>
    [...body.matchAll(/\bversion\s*=\s*(?:"([^"]*)"|(.*))/g)].map(([, quoted, other]) => quoted ?? other ?? ''),
  )
}
