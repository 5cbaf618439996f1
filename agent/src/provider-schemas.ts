import { createHash, randomUUID } from 'node:crypto'
import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFileDigest, runToFile, type Workplace } from './phase.ts'

/** The file under which the schemas of this workplace's providers are cached: they depend on the pinned providers only. */
export async function schemaFile({ engine, workingFolder, workshop }: Workplace): Promise<string> {
  const key = `${engine.product} ${engine.version} ${await lockFileDigest(workingFolder)}`
  return join(workshop.schemaCache, `${createHash('sha256').update(key).digest('hex')}.json`)
}

/** Asks the engine for the schemas unless they are cached; `fresh` asks in any case. */
export async function fetchSchemas(workplace: Workplace, path: string, fresh = false): Promise<void> {
  if (!fresh && (await stat(path).catch(() => undefined)) !== undefined) return
  // Written aside and renamed: another job may read the file meanwhile.
  const draft = `${path}.${randomUUID()}`
  await runToFile(workplace, ['providers', 'schema', '-json'], draft)
  await rename(draft, path)
}
