import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineContext } from './context.ts'

const LOCK_FILE = '.terraform.lock.hcl'

export function lockFile({ workingFolder }: Pick<EngineContext, 'workingFolder'>): string {
  return join(workingFolder, LOCK_FILE)
}

/** Names the providers that a folder's lock file pins. */
export async function lockFileDigest(workingFolder: string): Promise<string> {
  const lock = await readFile(lockFile({ workingFolder })).catch(() => Buffer.alloc(0))
  return createHash('sha256').update(lock).digest('hex')
}
