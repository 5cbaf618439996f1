import { randomBytes } from 'node:crypto'
import { link, open, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from './error-code.ts'

/**
 * Creates a file that appears at once with its whole content, durable when it resolves. One that exists is left as it is: of
 * processes that create it at the same time, one wins.
 */
export async function createFileOnce(path: string, content: string) {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(content)
    await file.sync()
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await unlink(temporary).catch(() => {})
  }
  // Also when another process has created the file: what builds on it must not outlive it in a power cut.
  await using directory = await open(dirname(path), 'r')
  await directory.sync()
}
