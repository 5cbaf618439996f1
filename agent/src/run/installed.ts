import { join } from 'node:path'
import { type InstalledParts, MAX_INSTALLED } from '@groundstate/contract/agent'
import { isObject } from '@groundstate/contract/exact-json'
import { z } from 'zod'
import type { RunDirectory } from '../isolation/run-directory.ts'
import { openConfined, readWhole } from '../process/confined-file.ts'
import { parseJson } from '../server/connection.ts'
import type { EngineContext } from './context.ts'
import { lockedProviders } from './dependency-lock.ts'
import { MODULE_LIST } from './init-cache.ts'
import { lockFile } from './run-engine.ts'
import { serverNames } from './working-directory.ts'

/** Files above this size, in bytes, are not read: the agent parses them, and may be part of the server, whose event loop must not wait. */
const MAX_BYTES = 512 * 1024

type Context = Pick<EngineContext, 'agent' | 'job' | 'directory' | 'workingDirectory'>

/** The modules and providers that init has installed from the server's registry; undefined if that does not matter or cannot be read. */
export async function readInstalled(context: Context): Promise<InstalledParts | undefined> {
  const { agent, job, directory, workingDirectory } = context
  if (!job.mayApply) return undefined
  const hosts = new Set(serverNames(agent.apiUrl, job).map(hostOf))
  try {
    const list = await readText(join(workingDirectory, '.terraform', MODULE_LIST), directory)
    const lock = await readText(lockFile(context), directory)
    return {
      modules: ownParts(listedModules(list), MODULE, hosts),
      providers: ownParts(lockedProviders(lock ?? ''), PROVIDER, hosts),
    }
  } catch {
    // The files belong to the run, which must not fail because of them.
    return undefined
  }
}

async function readText(path: string, directory: RunDirectory): Promise<string | undefined> {
  using file = openConfined(path, directory)
  if (file === undefined) return undefined
  if (file.stats.size > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`)
  return (await readWhole(file)).toString()
}

const moduleList = z.object({ Modules: z.array(z.unknown()) })

/** The modules with a version: those of registries. A schema for each entry would take seconds for a hostile list. */
function listedModules(list: string | undefined) {
  if (list === undefined) return []
  return moduleList.parse(parseJson(list)).Modules.flatMap((entry) => {
    if (!isObject(entry)) return []
    const { Source: source, Version: version } = entry
    return typeof source === 'string' && typeof version === 'string' ? [{ source, version }] : []
  })
}

const PART = '[A-Za-z0-9][A-Za-z0-9_-]*'
/** Sources `host/organization/name/provider`, perhaps with a directory, and `host/organization/type`. */
const MODULE = new RegExp(`^([^/]+)/(${PART}/${PART}/${PART})(?://.*)?$`)
const PROVIDER = new RegExp(`^([^/]+)/(${PART}/${PART})$`)
/** The characters of versions: a report with others, such as U+0000, would be refused with the result of the plan. */
const VERSION = /^[0-9A-Za-z.+-]+$/

/** The first parts of the server's registry, each once. */
function ownParts(found: readonly { source: string; version: string }[], form: RegExp, hosts: ReadonlySet<string>) {
  const parts = new Map<string, InstalledParts['modules'][number]>()
  for (const { source, version } of found) {
    const [, host = '', address = ''] = form.exec(source) ?? []
    if (!VERSION.test(version) || version.length > MAX_TEXT || address.length > MAX_TEXT || !hosts.has(hostOf(host)))
      continue
    parts.set(`${address} ${version}`, { address, version })
    if (parts.size === MAX_INSTALLED) break
  }
  return [...parts.values()]
}

/** Longer addresses and versions are no valid ones, in characters. */
const MAX_TEXT = 128

/** A host in its ASCII form, without the default port, as URLs have it; empty if it is none. */
function hostOf(host: string): string {
  const url = `https://${host}`
  return URL.canParse(url) ? new URL(url).host : ''
}
