import { createReadStream, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { copyFile, mkdir, open, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentJob, agentJobKind, finishBody } from '@groundstate/contract/agent'
import { z } from 'zod'
import { openConfined, type Bounds } from './confined-file.ts'
import { parseJson } from './parse-json.ts'

const FACTS = 'job.json'

const journalFacts = z.object({
  job: z.object({
    id: z.string(),
    kind: agentJobKind,
    runId: z.string(),
    token: z.string(),
    leaseMs: z.number(),
  }),
  /** Where it works, and as whose user; both folders go when it is over. */
  folder: z.object({ root: z.string(), tmp: z.string(), uid: z.number().optional() }).optional(),
  workingFolder: z.string().optional(),
  /** The engine was told to apply, so that the job can't be handed back any more. */
  began: z.boolean().optional(),
  /** A plan whose outcome may have been told, and whose documents were not delivered. */
  owesDocuments: z.boolean().optional(),
  /** The one that has made that plan. */
  engine: z.object({ product: z.enum(['terraform', 'tofu']), version: z.string() }).optional(),
  /** It is over, and this is how. */
  outcome: finishBody.optional(),
})
export type JournalFacts = z.infer<typeof journalFacts>

/**
 * What an agent that starts again needs to know of a job: a folder with its token, how far it is and its log. It is there from
 * the start of a job until the server has its outcome.
 */
export type Journal = {
  folder: string
  /** All that the job has logged. */
  log: string
  /** The process id of the engine that applies. */
  pid: string
  /** The agent has interrupted it. */
  interrupted: string
  /** How that engine has ended, when the agent was gone by then. */
  exit: string
  /** The state that the engine could not store. */
  erroredState: string
  facts: () => JournalFacts
  note: (facts: Partial<JournalFacts>) => Promise<void>
  remove: () => Promise<void>
}

const journalsOf = (workDir: string) => join(workDir, 'jobs')

export async function createJournal(workDir: string, { id, kind, runId, token, leaseMs }: AgentJob): Promise<Journal> {
  const folder = join(journalsOf(workDir), id)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const journal = journalAt(folder, { job: { id, kind, runId, token, leaseMs } })
  await journal.note({})
  return journal
}

/** The journals of the jobs that an agent on this folder had when it died. What can't be read is removed. */
export async function readJournals(workDir: string): Promise<Journal[]> {
  const parent = journalsOf(workDir)
  const journals: Journal[] = []
  for (const name of await readdir(parent).catch(() => [])) {
    const folder = join(parent, name)
    const text = await readFile(join(folder, FACTS), 'utf8').catch(() => '')
    const facts = journalFacts.safeParse(parseJson(text))
    if (facts.success) journals.push(journalAt(folder, facts.data))
    else await rm(folder, { recursive: true, force: true })
  }
  return journals
}

function journalAt(folder: string, start: JournalFacts): Journal {
  let current = start
  return {
    folder,
    log: join(folder, 'log'),
    pid: join(folder, 'pid'),
    interrupted: join(folder, 'interrupted'),
    exit: join(folder, 'exit.json'),
    erroredState: join(folder, 'errored.tfstate'),
    facts: () => current,
    async note(facts) {
      current = { ...current, ...facts }
      const draft = join(folder, `${FACTS}.draft`)
      const text = JSON.stringify(current)
      // Should the machine lose its power, an apply that has begun must not be taken for one that has not.
      const isVital = facts.began !== undefined || facts.outcome !== undefined
      if (isVital) {
        await writeFile(draft, text, { mode: 0o600, flush: true })
        await rename(draft, join(folder, FACTS))
        await syncFolder(folder)
      } else {
        writeFileSync(draft, text, { mode: 0o600 })
        renameSync(draft, join(folder, FACTS))
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function syncFolder(path: string) {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** How the engine ended behind the back of its agent; undefined when nobody knows. */
export async function readExit(journal: Journal): Promise<{ code: number | null } | undefined> {
  const text = await readFile(journal.exit, 'utf8').catch(() => '')
  return z.object({ code: z.number().nullable() }).safeParse(parseJson(text)).data
}

/** The file in which the engine leaves state that it could not store. */
const ERRORED_STATE = 'errored.tfstate'

/**
 * Copies the state that the engine could not store to the journal, where it stays until the server has it; returns whether there
 * is one. Throws when what is there is not a file of the run.
 */
export async function saveErroredState(journal: Journal, bounds: Bounds, workingFolder: string): Promise<boolean> {
  using file = openConfined(join(workingFolder, ERRORED_STATE), bounds)
  if (file === undefined) return false
  const content = createReadStream('', { fd: file.fd, autoClose: false })
  await writeFile(journal.erroredState, content, { mode: 0o600, flush: true })
  return true
}

/** Whether the journal has a state that the engine could not store. */
export function hasErroredState(journal: Journal): boolean {
  return existsSync(journal.erroredState)
}

/** Copies the only copy of a state to a place that no clean-up reaches, and returns its path. */
export async function storeErroredState(workDir: string, runId: string, path: string): Promise<string> {
  const folder = join(workDir, 'errored-states')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = join(folder, `${runId}.tfstate`)
  await copyFile(path, kept)
  return kept
}
