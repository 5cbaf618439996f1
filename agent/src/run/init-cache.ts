import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, isAbsolute, join, normalize, sep } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { chownToRun } from '../isolation/run-directory.ts'
import { readConfined } from '../process/confined-file.ts'
import { parseJson } from '../server/connection.ts'
import type { AgentContext, EngineContext, InitResult } from './context.ts'
import { hasHook, lockFile } from './run-engine.ts'

type Entries = InitResult['entries']

/** Limits of the cache: number of results, and characters of their files. */
const MAX_RESULTS = 500
const MAX_TOTAL_LENGTH = 16 * 1024 * 1024
/** Limits of one result: characters of a file, and number of entries. */
const MAX_FILE_LENGTH = 256 * 1024
const MAX_ENTRIES = 1_000

/** The result of this job's `init`: links to providers and small files. Undefined where inits may differ, or must run. */
export async function openInitCache(context: EngineContext) {
  const { agent, job, environment, directory, workingDirectory, archiveDigest } = context
  const results = agent.initResults
  const tuned = Object.keys(environment.run).some((name) => /^TF_(?:LOG|CLI_ARGS$|CLI_ARGS_init$)/.test(name))
  const required = providersOf(job)
  if (tuned || job.options.debug || required === undefined || archiveDigest === undefined) return undefined
  // Its providers are in another cache.
  if (job.withholdsSecrets) return undefined
  // The hook may change the configuration.
  if (await hasHook(agent, 'pre-plan')) return undefined
  const lock = (await readConfined(lockFile(context), directory))?.toString()
  const key = keyOf(context, lock)
  const data = join(workingDirectory, '.terraform')
  return {
    /** Restores `.terraform` as init would leave it; returns whether it could. */
    restore(): boolean {
      const cached = results.get(key)
      results.delete(key)
      const has = (provider: string) => cached?.entries.some(({ path }) => path === join('providers', provider))
      if (cached === undefined || !required.every(has)) return false
      try {
        restoreEntries(cached.entries, data, context)
      } catch {
        return false
      }
      results.set(key, cached)
      return true
    },
    /** Call right after init: caches the result if it does not depend on the time of the init. */
    async save() {
      const isPinned = lock === (await readConfined(lockFile(context), directory))?.toString()
      if (!isPinned || !(await hasLocalModules(data, context))) return
      const entries = await readEntries(data, context)
      if (entries === undefined) return
      results.delete(key)
      results.set(key, { workspaceId: job.workspaceId, entries })
      evict(results)
    },
  }
}

/** Drops the cached results of a workspace: one of them may have caused a failed run. */
export function invalidateInitCache({ initResults }: Pick<AgentContext, 'initResults'>, workspaceId: string) {
  for (const [key, result] of initResults) if (result.workspaceId === workspaceId) initResults.delete(key)
}

function evict(results: AgentContext['initResults']) {
  let total = [...results.values()].reduce((sum, { entries }) => sum + lengthOf(entries), 0)
  for (const [key, { entries }] of results) {
    if (results.size <= MAX_RESULTS && total <= MAX_TOTAL_LENGTH) return
    results.delete(key)
    total -= lengthOf(entries)
  }
}

function lengthOf(entries: Entries) {
  return entries.reduce((sum, { text = '' }) => sum + text.length, 0)
}

/** A digest of everything that determines the result of an init; hashed, since variables may be secret. Excludes paths and ids of the run. */
function keyOf({ agent, job, directory, engine, environment, archiveDigest }: EngineContext, lock: string | undefined) {
  const own = new Set([job.runId, job.configurationVersionId, directory.cliConfig, directory.home, directory.tmp])
  const variables = Object.entries(environment.run).filter(
    ([name, value]) => !own.has(value) && !environment.identity.includes(name),
  )
  // An emptied plugin cache counts as another directory, even with the same providers.
  const { ino, birthtimeMs } = fs.statSync(directory.cache.path)
  const parts = [
    [job.organizationId, job.workspaceId, job.organizationName, job.workspaceName],
    [archiveDigest, job.workingDirectory, lock ?? null],
    [engine.product, engine.version, engine.path, agent.apiUrl, job.hostNames, ino, birthtimeMs],
    variables.toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** The providers that init installs for the resources in the state; undefined when they are not known. */
function providersOf({ stateProviders }: AgentJob): string[] | undefined {
  const providers = stateProviders?.map((text) => /(?:^|\.)provider\["([^"]+)"\](?:\.[^.]*)?$/.exec(text)?.[1])
  if (providers?.every((provider) => provider !== undefined) !== true) return undefined
  return providers.filter((provider) => provider !== 'terraform.io/builtin/terraform')
}

/** The engine's list of installed modules, in `.terraform`. */
export const MODULE_LIST = 'modules/modules.json'

const moduleList = z.object({ Modules: z.array(z.object({ Key: z.string(), Source: z.string(), Dir: z.string() })) })

/** Whether all modules are directories of the archive; others would have to be copied, and their source may change. */
async function hasLocalModules(data: string, { directory, job }: EngineContext) {
  const text = await readConfined(join(data, MODULE_LIST), directory)
  if (text === undefined) return true
  const list = moduleList.safeParse(parseJson(text.toString()))
  return list.data?.Modules.every(({ Key, Source, Dir }) => {
    const place = normalize(join(job.workingDirectory, Dir))
    return Key === '' || (/^\.\.?\//.test(Source) && !isAbsolute(Dir) && !place.startsWith('..'))
  })
}

const FILES = ['terraform.tfstate', 'environment', MODULE_LIST]

/** Undefined if there is anything but small known files and links to providers. */
async function readEntries(data: string, { directory }: EngineContext): Promise<Entries | undefined> {
  // Never follows links, which a run could point anywhere.
  if (!fs.lstatSync(data).isDirectory()) return undefined
  const entries: Entries = [{ path: '' }]
  for (const parent of entries) {
    if (entries.length > MAX_ENTRIES) return undefined
    if (parent.target !== undefined) continue
    for (const child of fs.readdirSync(join(data, parent.path), { withFileTypes: true })) {
      const path = join(parent.path, child.name)
      if (child.isDirectory()) entries.push({ path })
      else if (child.isSymbolicLink()) entries.push({ path, target: fs.readlinkSync(join(data, path)) })
      else if (!FILES.includes(path)) return undefined
    }
  }
  for (const path of FILES) {
    const text = (await readConfined(join(data, path), directory))?.toString()
    if (text !== undefined) entries.push({ path, text })
  }
  const isSmall = entries.length <= MAX_ENTRIES && entries.every(({ text = '' }) => text.length <= MAX_FILE_LENGTH)
  return isSmall ? entries : undefined
}

/** Throws when a link does not point to a provider, or points into a run's directory, which other runs cannot enter. */
function restoreEntries(entries: Entries, data: string, { directory }: EngineContext) {
  const runs = dirname(directory.root) + sep
  for (const { path, text, target } of entries) {
    const place = join(data, path)
    if (target !== undefined) {
      if (!isAbsolute(target) || fs.realpathSync(target).startsWith(runs)) throw new Error(`${target} is no provider`)
      fs.symlinkSync(target, place)
      if (directory.user !== undefined) fs.lchownSync(place, directory.user.uid, directory.user.gid)
      continue
    }
    if (text === undefined) fs.mkdirSync(place, { recursive: true })
    else fs.writeFileSync(place, text)
    chownToRun(place, directory)
  }
}
