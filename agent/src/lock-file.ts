import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readConfined } from './confined-file.ts'
import type { EngineContext } from './context.ts'

const LOCK_FILE = '.terraform.lock.hcl'

export function lockFile({ workingFolder }: Pick<EngineContext, 'workingFolder'>): string {
  return join(workingFolder, LOCK_FILE)
}

/** Names the providers that a folder's lock file pins. */
export async function lockFileDigest(context: Pick<EngineContext, 'workingFolder' | 'folder'>): Promise<string> {
  const lock = await readConfined(lockFile(context), context.folder)
  return createHash('sha256')
    .update(lock ?? '')
    .digest('hex')
}
