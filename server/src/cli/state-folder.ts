import { createHash } from 'node:crypto'
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../folder.ts'
import { appendToJournal, mendJournal, readJournal } from './journal.ts'
import {
  type StateSource,
  type StateTarget,
  type TransferredVersion,
  transferredVersion,
  type VersionContent,
} from './state-transfer.ts'

const HISTORY = 'history.jsonl'

/**
 * States in a folder: one folder for each workspace, in it the raw states (and JSON states) as files, and `history.jsonl`
 * with one line for each version in the order of creation. A line is written once its files are complete, so that what
 * was cut off goes on where it stopped.
 */
export function stateFolder(path: string): StateSource & StateTarget {
  const folderOf = (workspace: string) => {
    if (!/^[A-Za-z0-9_-]+$/.test(workspace)) throw new Error(`${JSON.stringify(workspace)} is no name of a workspace`)
    return join(path, workspace)
  }

  async function history(workspace: string): Promise<TransferredVersion[]> {
    const lines = await readJournal(join(folderOf(workspace), HISTORY))
    return lines.map((line) => transferredVersion.parse(JSON.parse(line)))
  }

  return {
    async check() {
      const found = await stat(path).catch((error: unknown) => {
        if (isMissing(error)) return undefined
        throw error
      })
      if (found && !found.isDirectory()) throw new Error(`${path} is no folder`)
    },

    async listWorkspaces() {
      const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
        if (isMissing(error)) throw new Error(`there is no folder ${path}`, { cause: error })
        throw error
      })
      return entries
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
        .toSorted()
    },

    listVersions: history,

    async readContent(workspace, version) {
      const folder = folderOf(workspace)
      const raw = await readFile(join(folder, fileName(version, 'tfstate')))
      const md5 = createHash('md5').update(raw).digest('hex')
      if (md5 !== version.md5)
        throw new Error(`${join(folder, fileName(version, 'tfstate'))} was changed: its md5 is ${md5}`)
      return { raw, json: version.hasJson ? await readFile(join(folder, fileName(version, 'json'))) : undefined }
    },

    async prepare(workspace) {
      const folder = folderOf(workspace)
      await makeFolder(folder, 0o700)
      await mendJournal(join(folder, HISTORY))
      return {
        done: new Set((await history(workspace)).map((version) => version.id)),
        release: async () => {},
        async write(version, content) {
          await writeWhole(join(folder, fileName(version, 'tfstate')), content.raw)
          if (content.json) await writeWhole(join(folder, fileName(version, 'json')), content.json)
          const line = JSON.stringify({ ...version, hasJson: content.json !== undefined })
          await appendToJournal(join(folder, HISTORY), line)
        },
      }
    },
  }
}

function fileName(version: TransferredVersion, extension: string) {
  return `${String(version.serial).padStart(6, '0')}-${version.id.replaceAll(/[^\w-]/g, '_')}.${extension}`
}

async function writeWhole(path: string, content: VersionContent['raw']) {
  await writeFile(`${path}.part`, content, { mode: 0o600 })
  await rename(`${path}.part`, path)
}

function isMissing(error: unknown) {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
