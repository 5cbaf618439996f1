import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { link, mkdir, open, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AgentJob, agentJobKind, finishBody } from '@groundstate/contract/agent'
import { MAX_STATE_BYTES } from '@groundstate/contract/limits'
import { z } from 'zod'
import type { AgentLog } from '../log.ts'
import { type Bounds, keepFile, openConfined } from '../process/confined-file.ts'
import { codeOf, messageOf } from '../process/errors.ts'
import { parseJson } from '../server/connection.ts'

const RECORD = 'job.json'

const journalRecord = z.object({
  job: z.object({ id: z.string(), kind: agentJobKind, runId: z.string(), token: z.string(), leaseMs: z.number() }),
  /** Its directories, removed at its end, and its user. */
  directory: z.object({ root: z.string(), tmp: z.string(), uid: z.number().optional() }).optional(),
  workingDirectory: z.string().optional(),
  /** The engine has begun to apply, so the job can no longer be requeued. */
  began: z.boolean().optional(),
  /** A plan with pending documents, whose outcome may have been reported. */
  owesDocuments: z.boolean().optional(),
  engine: z.object({ product: z.enum(['terraform', 'tofu']), version: z.string() }).optional(),
  outcome: finishBody.optional(),
})
type JournalRecord = z.infer<typeof journalRecord>

/** A directory with the token, progress and log of a job, for recovery until the server has its outcome. */
export type Journal = ReturnType<typeof journalAt>

const journalsOf = (workDir: string) => join(workDir, 'jobs')

export async function createJournal(workDir: string, { id, kind, runId, token, leaseMs }: AgentJob): Promise<Journal> {
  const directory = join(journalsOf(workDir), id)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const journal = journalAt(directory, { job: { id, kind, runId, token, leaseMs } })
  await journal.update({})
  return journal
}

/** Reads the journals of a dead agent in this directory. Removes unreadable ones. */
export async function readJournals(workDir: string): Promise<Journal[]> {
  const parent = journalsOf(workDir)
  const journals: Journal[] = []
  for (const name of await readdir(parent).catch(() => [])) {
    const directory = join(parent, name)
    const text = await readFile(join(directory, RECORD), 'utf8').catch(() => '')
    const { data } = journalRecord.safeParse(parseJson(text))
    if (data) journals.push(journalAt(directory, data))
    else await rm(directory, { recursive: true, force: true })
  }
  return journals
}

function journalAt(directory: string, start: JournalRecord) {
  let current = start
  const journal = {
    directory,
    log: join(directory, 'log'),
    /** File with the process id of the engine that applies. */
    pid: join(directory, 'pid'),
    /** File that records that the agent interrupted the engine. */
    interrupted: join(directory, 'interrupted'),
    /** File with the exit of an engine that outlived its agent. */
    exit: join(directory, 'exit.json'),
    /** File with the tokens of the run during an apply, to remove them from the log of an engine that outlived its agent. */
    tokens: join(directory, 'tokens.json'),
    /** The state that the engine could not store. */
    erroredState: join(directory, 'errored.tfstate'),
    record: () => current,
    async update(changes: Partial<JournalRecord>) {
      current = { ...current, ...changes }
      const draft = join(directory, `${RECORD}.draft`)
      const text = JSON.stringify(current)
      // After a power failure, an apply that has begun must not appear as one that has not.
      const isVital = changes.began !== undefined || changes.outcome !== undefined
      if (isVital) {
        await writeFile(draft, text, { mode: 0o600, flush: true })
        await rename(draft, join(directory, RECORD))
        await syncDirectory(directory)
      } else {
        writeFileSync(draft, text, { mode: 0o600 })
        renameSync(draft, join(directory, RECORD))
      }
    },
    /** Updates the record for a recovery that may not be needed: a full disk must not prevent the report of an outcome. */
    async tryUpdate(changes: Partial<JournalRecord>, log: AgentLog) {
      await journal.update(changes).catch((error: unknown) => {
        log.error({ job: current.job.id, error }, 'the progress of a job cannot be recorded')
      })
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
  return journal
}

async function syncDirectory(path: string) {
  const directory = await open(path)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

export async function readExit(journal: Journal): Promise<{ code: number | null } | undefined> {
  const text = await readFile(journal.exit, 'utf8').catch(() => '')
  return z.object({ code: z.number().nullable() }).safeParse(parseJson(text)).data
}

/** The file in which the engine leaves state that it could not store. */
const ERRORED_STATE = 'errored.tfstate'

/** Copies the state that the engine could not store, if any, to the journal. Returns a note if the run left another file in its place. */
export async function saveErroredState(journal: Journal, bounds: Bounds, workingDirectory: string) {
  try {
    using file = openConfined(join(workingDirectory, ERRORED_STATE), bounds)
    if (file === undefined) return undefined
    const { size } = file.stats
    if (size > MAX_STATE_BYTES) throw new Error(`it has ${size} bytes, and a state has at most ${MAX_STATE_BYTES}`)
    await keepFile(file, journal.erroredState)
    return undefined
  } catch (error) {
    return `${ERRORED_STATE} is not kept: ${messageOf(error)}`
  }
}

/** Links the only copy of a state, if any, in a directory that is never cleaned up, and returns its path. */
export async function storeErroredState(workDir: string, { erroredState, record }: Journal) {
  using file = openConfined(erroredState, { root: dirname(erroredState), user: undefined })
  if (file === undefined) return undefined
  const directory = join(workDir, 'errored-states')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const kept = join(directory, `${record().job.runId}.tfstate`)
  await link(erroredState, kept).catch(async (error: unknown) => {
    // The outcome that names it is sent again. Otherwise, the directory is on another file system, or on one without links.
    if (codeOf(error) !== 'EEXIST') await keepFile(file, kept)
  })
  await syncDirectory(directory)
  return kept
}

/** Removes the journal of a dropped job after its state, if any, is stored; returns the path of that. A journal whose state cannot be stored remains. */
export async function dropJournal(workDir: string, journal: Journal, log: AgentLog) {
  try {
    const kept = await storeErroredState(workDir, journal)
    await journal.remove()
    return kept
  } catch (error) {
    const path = journal.erroredState
    log.error({ run: journal.record().job.runId, path, error }, 'a state cannot be kept: it stays here')
    return path
  }
}
