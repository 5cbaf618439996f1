import { createHash } from 'node:crypto'
import { appendFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StateSource, StateTarget, TransferredVersion, VersionContent } from './state-transfer.ts'

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
    const text = await readFile(join(folderOf(workspace), HISTORY), 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return ''
      throw error
    })
    // The last line may have been cut off.
    const complete = text.slice(0, text.lastIndexOf('\n') + 1)
    return complete
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as TransferredVersion)
  }

  return {
    async listWorkspaces() {
      const entries = await readdir(path, { withFileTypes: true })
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
      await mkdir(folderOf(workspace), { recursive: true })
      return { done: new Set((await history(workspace)).map((version) => version.id)), release: async () => {} }
    },

    async write(workspace, version, content) {
      const folder = folderOf(workspace)
      await writeWhole(join(folder, fileName(version, 'tfstate')), content.raw)
      if (content.json) await writeWhole(join(folder, fileName(version, 'json')), content.json)
      await appendFile(
        join(folder, HISTORY),
        `${JSON.stringify({ ...version, hasJson: content.json !== undefined })}\n`,
      )
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
