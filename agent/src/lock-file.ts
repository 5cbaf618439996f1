import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readConfined } from './confined-file.ts'
import type { EngineContext } from './context.ts'

const LOCK_FILE = '.terraform.lock.hcl'

export function lockFile({ workingDirectory }: Pick<EngineContext, 'workingDirectory'>): string {
  return join(workingDirectory, LOCK_FILE)
}

/** Names the providers that a directory's lock file pins. */
export async function lockFileDigest(context: Pick<EngineContext, 'workingDirectory' | 'directory'>): Promise<string> {
  const lock = await readConfined(lockFile(context), context.directory)
  return createHash('sha256')
    .update(lock ?? '')
    .digest('hex')
}
