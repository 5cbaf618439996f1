import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'

/** Plugins listen on unix sockets in TMPDIR, whose whole path may have 107 bytes; their names take about 20. */
const LONGEST_TMP = 80
const KEPT = 'kept.json'

const keptFacts = z.object({
  runId: z.string(),
  jobId: z.string(),
  engineVersion: z.string(),
  keptAt: z.number(),
  tmp: z.string(),
})

/** Where one run works: all of it below `root`, which only the agent's user can enter. */
export type RunFolder = {
  root: string
  /** The unpacked archive. */
  configuration: string
  /** HOME of the engine. */
  home: string
  tmp: string
  /** Variable files; they hold secrets and go when a phase ends. */
  variables: string
  planFile: string
  planJson: string
  cliConfig: string
}

type Kept = { folder: RunFolder; jobId: string; engineVersion: string; keptAt: number }

export type FolderLimits = {
  /** How long a folder waits for its apply, in ms. */
  keepMs: number
  /** How many wait; the oldest goes first. */
  keepCount: number
}

/**
 * The working folders of an agent. The folder of a plan is kept for its apply, which then needs no download and no init; it
 * goes after the apply, or when it has waited too long. Kept ones survive a restart of the agent, all others are removed by it.
 */
export type RunFolders = Awaited<ReturnType<typeof openRunFolders>>

export async function openRunFolders(workDir: string, { keepMs, keepCount }: FolderLimits) {
  const parent = join(workDir, 'runs')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const kept = await readKept(parent)

  async function remove(folder: RunFolder) {
    await rm(folder.root, { recursive: true, force: true })
    if (!folder.tmp.startsWith(folder.root)) await rm(folder.tmp, { recursive: true, force: true })
  }

  async function sweep() {
    const oldest = [...kept].toSorted(([, a], [, b]) => a.keptAt - b.keptAt)
    const surplus = oldest.length - keepCount
    const due = oldest.filter(([, { keptAt }], index) => index < surplus || Date.now() - keptAt > keepMs)
    for (const [runId] of due) kept.delete(runId)
    await Promise.all(due.map(([, { folder }]) => remove(folder)))
  }

  return {
    remove,
    sweep,
    warmRunIds: () => [...kept.keys()].slice(-100),

    async create(job: AgentJob): Promise<RunFolder> {
      const root = await mkdtemp(join(parent, `${job.runId}-`))
      const short = Buffer.byteLength(join(root, 'tmp')) <= LONGEST_TMP
      const tmp = short ? join(root, 'tmp') : await mkdtemp(join(tmpdir(), 'groundstate-'))
      const folder = folderAt(root, tmp)
      for (const path of new Set([folder.configuration, folder.home, folder.variables, tmp])) {
        await mkdir(path, { recursive: true, mode: 0o700 })
      }
      return folder
    },

    /**
     * The folder that the plan of this very job has left with this engine, which is the caller's from now on. That of another
     * attempt is removed: the server has never heard of its plan, or not accepted it.
     */
    async take(runId: string, plan: { jobId: string | undefined; engineVersion: string }) {
      const found = kept.get(runId)
      if (found === undefined) return undefined
      kept.delete(runId)
      // Without its mark the folder goes when the agent starts again: it may be half way through an apply.
      await rm(join(found.folder.root, KEPT), { force: true })
      if (found.jobId === plan.jobId && found.engineVersion === plan.engineVersion) {
        await mkdir(found.folder.variables, { recursive: true, mode: 0o700 })
        return found.folder
      }
      await remove(found.folder)
      return undefined
    },

    async keep(folder: RunFolder, job: Pick<AgentJob, 'id' | 'runId'>, engineVersion: string) {
      const { id: jobId, runId } = job
      const facts = { runId, jobId, engineVersion, keptAt: Date.now(), tmp: folder.tmp }
      await rm(folder.variables, { recursive: true, force: true })
      await rm(folder.cliConfig, { force: true })
      await writeFile(join(folder.root, KEPT), JSON.stringify(facts))
      const earlier = kept.get(runId)
      kept.set(runId, { folder, jobId, engineVersion, keptAt: facts.keptAt })
      if (earlier) await remove(earlier.folder)
      await sweep()
    },
  }
}

async function readKept(parent: string): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (const name of await readdir(parent)) {
    const root = join(parent, name)
    const text = await readFile(join(root, KEPT), 'utf8').catch(() => '{}')
    const facts = keptFacts.safeParse(parseJson(text))
    if (facts.success) {
      const { runId, tmp, ...rest } = facts.data
      kept.set(runId, { folder: folderAt(root, tmp), ...rest })
    } else await rm(root, { recursive: true, force: true })
  }
  return kept
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Half written when the agent was killed: the folder is not known to be whole.
    return undefined
  }
}

function folderAt(root: string, tmp: string): RunFolder {
  return {
    root,
    tmp,
    configuration: join(root, 'configuration'),
    home: join(root, 'home'),
    variables: join(root, 'variables'),
    planFile: join(root, 'run.tfplan'),
    planJson: join(root, 'plan.json'),
    cliConfig: join(root, 'cli.tfrc'),
  }
}
