import { appendFile, readFile, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from '../directory.ts'
import { codeOf, messageOf } from '../error-code.ts'

/**
 * Records in a file which versions of a workspace were transferred to a server. One line records the start of a version with its id on the server,
 * another its completion. If the last version has no completion but `isFinalized`, only the response was lost. Without a file, nothing is
 * recorded.
 */
export async function checkpoint(
  file: string | undefined,
  workspace: string,
  isFinalized: (targetId: string) => boolean,
) {
  const append = async (line: string) => {
    if (file !== undefined) await appendToJournal(file, `${workspace} ${line}`)
  }
  const finish = async (id: string) => append(`${id} done`)

  if (file !== undefined) await repairJournal(file)
  const arrived = new Map<string, string>()
  const targets = new Map<string, string>()
  let begun: { id: string; targetId: string } | undefined
  for (const line of file === undefined ? [] : await readJournal(file)) {
    const [name, id, word, targetId] = line.split(' ')
    if (name !== workspace || id === undefined) continue
    if (word === 'done') arrived.set(id, targets.get(id) ?? '')
    else if (targetId !== undefined) {
      targets.set(id, targetId)
      arrived.delete(id)
      begun = { id, targetId }
    }
  }
  if (begun && !arrived.has(begun.id) && isFinalized(begun.targetId)) {
    await finish(begun.id)
    arrived.set(begun.id, begun.targetId)
  }
  return { arrived, begin: async (id: string, targetId: string) => append(`${id} as ${targetId}`), finish }
}

/** The complete lines of an append-only file; none if it does not exist. */
export async function readJournal(path: string): Promise<string[]> {
  return (await completeText(path)).complete.split('\n').slice(0, -1)
}

/** Removes an incomplete last line. */
export async function repairJournal(path: string) {
  const { text, complete } = await completeText(path)
  if (text.length > complete.length) await truncate(path, Buffer.byteLength(complete))
}

export async function appendToJournal(path: string, line: string) {
  await makeDirectory(dirname(path), 0o700)
  await appendFile(path, `${line}\n`, { mode: 0o600 })
}

async function completeText(path: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return ''
    // For a directory, Node's message does not name the path.
    throw new Error(`${path} can't be read: ${messageOf(error)}`, { cause: error })
  })
  return { text, complete: text.slice(0, text.lastIndexOf('\n') + 1) }
}
