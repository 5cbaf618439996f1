import { appendFile, readFile, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from '../directory.ts'
import { codeOf } from '../error-code.ts'
import { messageOf } from './state-api.ts'

/** The complete lines of a file that is only appended to; none when it does not exist. */
export async function readJournal(path: string): Promise<string[]> {
  return (await completeText(path)).complete.split('\n').slice(0, -1)
}

/** Removes an incomplete last line, so that the next one starts on its own line. */
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
