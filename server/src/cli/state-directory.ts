import { appendFile, readFile, readdir, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { makeDirectory } from '../directory.ts'
import { codeOf, ignoring, messageOf } from '../error-code.ts'
import { appendToJournal, readJournal, repairJournal } from './state-checkpoint.ts'
import { md5Of } from './state-missing-versions.ts'
import {
  type StateSource,
  type StateTarget,
  type TransferredVersion,
  transferredVersion,
} from './state-source-and-target.ts'

const HISTORY = 'history.jsonl'
/** File with the origin of the states, so that states of two servers are not mixed. */
const ORIGIN = 'origin.json'
const exportOrigin = z.object({ url: z.string(), organization: z.string() })
type ExportOrigin = z.infer<typeof exportOrigin>

/**
 * States in a directory, with a subdirectory for each workspace. It contains the raw states (and JSON states), and `history.jsonl` with a line for
 * each version in the order of creation. A line is written after its files, so an interrupted export can continue. `origin` is set for an
 * export.
 */
export function stateDirectory(path: string, origin?: ExportOrigin): StateSource & StateTarget {
  const directoryOf = (workspace: string) => {
    if (!/^[A-Za-z0-9_-]+$/.test(workspace)) throw new Error(`invalid workspace name ${JSON.stringify(workspace)}`)
    return join(path, workspace)
  }

  async function history(workspace: string): Promise<TransferredVersion[]> {
    const lines = await readJournal(join(directoryOf(workspace), HISTORY))
    return lines.flatMap((line, at) => {
      if (line === '') return []
      try {
        return transferredVersion.parse(JSON.parse(line))
      } catch (error) {
        const reason = error instanceof z.ZodError ? fieldsOf(error) : messageOf(error)
        throw new Error(`${join(directoryOf(workspace), HISTORY)}, line ${at + 1}: ${reason}`, { cause: error })
      }
    })
  }

  return {
    async check() {
      const entry = await ignoring('ENOENT', stat(path)).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOTDIR') throw error
        throw new Error(`${path} is not a directory: a part of the path is a file`, { cause: error })
      })
      if (entry && !entry.isDirectory()) throw new Error(`${path} is not a directory`)
      if (origin) {
        await makeDirectory(path, 0o700)
        await checkOrigin(path, origin)
        return
      }
      if (!entry) throw new Error(`there is no directory ${path}`)
      if ((await listHistories(path)).length === 0 && !(await isFile(join(path, ORIGIN))))
        throw new Error(`${path} has no exported states: no subdirectory has a ${HISTORY}`)
    },

    listWorkspaces: () => listHistories(path),

    listVersions: history,

    async readContent(workspace, version) {
      const directory = directoryOf(workspace)
      const readWhole = async (extension: string) => {
        const file = join(directory, fileName(version, extension))
        const content = await ignoring('ENOENT', readFile(file))
        if (content) return content
        throw new Error(
          `${file} is missing, but ${HISTORY} lists it: it contains ${version.id}, serial ${version.serial} of the ` +
            `workspace ${workspace}. Restore the file, or export again into another directory`,
        )
      }
      const raw = await readWhole('tfstate')
      const md5 = md5Of(raw)
      if (md5 !== version.md5)
        throw new Error(`${join(directory, fileName(version, 'tfstate'))} was changed: its md5 is ${md5}`)
      return { raw, json: version.hasJson ? await readWhole('json') : undefined }
    },

    async prepare(workspace) {
      const directory = directoryOf(workspace)
      await makeDirectory(directory, 0o700)
      await repairJournal(join(directory, HISTORY))
      // A workspace without states has an empty history, which marks its directory as an export.
      await appendFile(join(directory, HISTORY), '', { mode: 0o600 })
      return {
        arrived: new Map((await history(workspace)).map((version) => [version.id, version.id])),
        release: async () => {},
        async write(version, content) {
          await writeAtomically(join(directory, fileName(version, 'tfstate')), content.raw)
          if (content.json) await writeAtomically(join(directory, fileName(version, 'json')), content.json)
          const line = JSON.stringify({ ...version, hasJson: content.json !== undefined })
          await appendToJournal(join(directory, HISTORY), line)
        },
      }
    },
  }
}

async function listHistories(path: string) {
  const entries = await readdir(path, { withFileTypes: true })
  const directories = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  const exported = await Promise.all(directories.map(async (name) => isFile(join(path, name, HISTORY))))
  return directories.filter((_, at) => exported[at]).toSorted()
}

async function isFile(path: string) {
  return (await ignoring('ENOENT', stat(path)))?.isFile() ?? false
}

/** Throws if the directory has states of another server or organization. */
async function checkOrigin(path: string, { url, organization }: ExportOrigin) {
  const file = join(path, ORIGIN)
  const text = await ignoring('ENOENT', readFile(file, 'utf8'))
  const expected = { url: url.replace(/\/+$/, ''), organization }
  if (text === undefined) return writeAtomically(file, Buffer.from(`${JSON.stringify(expected)}\n`))
  const actual = readOrigin(file, text)
  if (actual.url === expected.url && actual.organization === organization) return
  throw new Error(
    `${path} has the states of ${actual.organization} on ${actual.url}, not those of ${organization} on ${expected.url}: ` +
      'choose another directory',
  )
}

function readOrigin(file: string, text: string) {
  try {
    return exportOrigin.parse(JSON.parse(text))
  } catch (error) {
    throw new Error(`${file} does not have the origin of the states in this directory`, { cause: error })
  }
}

function fieldsOf(error: z.ZodError) {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'the line'}: ${message}`).join('; ')
}

function fileName(version: TransferredVersion, extension: string) {
  return `${String(version.serial).padStart(6, '0')}-${version.id.replaceAll(/[^\w-]/g, '_')}.${extension}`
}

async function writeAtomically(path: string, content: Buffer) {
  await writeFile(`${path}.part`, content, { mode: 0o600 })
  await rename(`${path}.part`, path)
}
