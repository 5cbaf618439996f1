import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { forgetConfiguration } from './configuration-cache.ts'
import { readConfined } from './confined-file.ts'
import type { EngineContext } from './context.ts'
import { hasHook } from './hooks.ts'
import { lockFile } from './lock-file.ts'
import { hasModules, type InitFiles, isPinned } from './pinned.ts'
import { handOver } from './run-folder.ts'
import { copyTree, restoreTree, type TreeEntry } from './tree-copy.ts'
import type { WarmFolders } from './warm-folders.ts'

/** The folder of an engine in the working folder, which an init fills. */
const DATA = '.terraform'
/** What is known of a warm init, beside its copy. */
const FACTS = 'init.json'

const initFacts = z.object({
  /** Addresses of the providers that are there. */
  providers: z.array(z.string()),
  /** The lock file, where init has changed it. */
  lock: z.string().optional(),
})

export type WarmInit = {
  /** Whether the working folder is now as init would leave it. */
  take: () => Promise<boolean>
  /** Keeps what init has left for later runs, if they would get the same. Call it before anything else runs there. */
  keep: () => Promise<void>
}

/** What may stand in for an init of this job; undefined where nothing may, also for a reason that init will tell better. */
export async function openWarmInit(context: EngineContext): Promise<WarmInit | undefined> {
  return open(context).catch(() => undefined)
}

async function open(context: EngineContext): Promise<WarmInit | undefined> {
  const { agent, job, folder, workingFolder } = context
  const { warmFolders } = agent
  const needed = providersOf(job)
  if (warmFolders === undefined || context.configurationFacts === undefined || needed === undefined) return undefined
  if (await isDifferent(context)) return undefined
  const before = await initFiles(context)
  const key = warmKey(warmFolders, context, before)
  const data = join(workingFolder, DATA)
  return {
    take: async () =>
      warmFolders.take(key, async (copy) => {
        const facts = initFacts.parse(JSON.parse(readFileSync(join(copy, FACTS), 'utf8')))
        const missing = needed.filter((address) => !facts.providers.includes(address))
        if (missing.length > 0) throw new Error(`the state has resources of ${missing.join(', ')}`)
        await fillData(copy)
        if (facts.lock === undefined) return
        writeFileSync(lockFile(context), facts.lock)
        handOver(lockFile(context), folder)
      }),
    async keep() {
      await warmFolders.put(key, scopeOf(job), async (copy) => {
        const after = await initFiles(context)
        const place = { workingFolder, workingDirectory: job.workingDirectory }
        if (!(await isPinned({ before, after }, place, folder))) throw new Error('what init has chosen is not pinned')
        const { entries, bytes } = await copyTree(data, copy, folder)
        const lock = after.lock === before.lock ? undefined : after.lock
        await writeFile(join(copy, FACTS), JSON.stringify({ providers: installedIn(entries), lock }))
        return bytes
      })
    },
  }

  async function fillData(copy: string) {
    // An archive may bring modules and the engine's note of them, which init needs if the copy is of no use.
    const former = join(folder.root, 'former-data')
    const hasFormer = isMoved(data, former)
    try {
      mkdirSync(data)
      handOver(data, folder)
      await restoreTree(copy, data, folder)
    } catch (error) {
      await rm(data, { recursive: true, force: true })
      if (hasFormer) renameSync(former, data)
      throw error
    }
    if (hasFormer) await rm(former, { recursive: true, force: true })
  }
}

/** Whatever was kept of a run that has failed may be the reason. */
export async function forgetWarmth(warmFolders: WarmFolders | undefined, job: AgentJob): Promise<void> {
  await warmFolders?.dropScope(scopeOf(job))
  await forgetConfiguration(warmFolders, job)
}

function scopeOf({ workspaceId }: AgentJob) {
  return `inits of ${workspaceId}`
}

/** Where init has more to do than to install what it needs, or its configuration is not that of the archive any more. */
async function isDifferent({ agent, job, environment }: EngineContext): Promise<boolean> {
  if (job.options.debug) return true
  const tuned = Object.keys(environment.run).some((key) => /^TF_(?:LOG|CLI_ARGS$|CLI_ARGS_init$)/.test(key))
  return tuned || (await hasHook(agent, 'pre-plan'))
}

/** The providers of the state that have to be installed; undefined when they are not known. */
function providersOf({ stateProviders }: AgentJob): string[] | undefined {
  const addresses = stateProviders?.map((provider) => /(?:^|\.)provider\["([^"]+)"\](?:\.[^.]*)?$/.exec(provider)?.[1])
  if (addresses === undefined || addresses.includes(undefined)) return undefined
  return addresses.filter(
    (address) => address !== undefined && address !== 'terraform.io/builtin/terraform',
  ) as string[]
}

/** A provider lies in `providers/<host>/<namespace>/<type>`. */
function installedIn(entries: readonly TreeEntry[]): string[] {
  return entries.flatMap(({ path }) => /^providers\/([^/]+\/[^/]+\/[^/]+)$/.exec(path)?.[1] ?? [])
}

async function initFiles({ workingFolder, folder }: EngineContext): Promise<InitFiles> {
  const [lock, modules] = await Promise.all([
    readConfined(lockFile({ workingFolder }), folder),
    readConfined(join(workingFolder, DATA, 'modules/modules.json'), folder),
  ])
  const list = modules?.toString()
  return { lock: lock?.toString(), modules: list, hasModules: hasModules(list, workingFolder, folder) }
}

/**
 * Names all that decides what an init comes to. Variable files are not part of it, since init is given none. The paths and ids
 * that every run has of its own are replaced by their names: what they are does not matter.
 */
function warmKey(warmFolders: WarmFolders, context: EngineContext, before: InitFiles): string {
  const { agent, job, folder, engine, environment } = context
  const own = new Map([
    [job.runId, 'run'],
    [job.configurationVersionId, 'configuration version'],
    [folder.cliConfig, 'cli configuration'],
    [folder.home, 'home'],
    [folder.tmp, 'tmp'],
  ])
  const variables = Object.entries(environment.run).map(([key, value]) => [key, own.get(value) ?? ` ${value}`])
  // One that was emptied is another folder, even if it fills up with the same providers.
  const { ino, birthtimeMs } = statSync(folder.cache.path)
  return warmFolders.key(
    'init',
    context.configurationFacts,
    [job.workspaceId, job.workspaceName, job.organizationName, job.workingDirectory],
    [engine.product, engine.version, engine.path],
    [agent.apiUrl, job.hostNames],
    [folder.cache.path, ino, birthtimeMs],
    variables.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    before.lock ?? null,
  )
}

/** Whether there was something to move. */
function isMoved(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch {
    return false
  }
}
