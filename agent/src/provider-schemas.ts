import { createHash, randomUUID } from 'node:crypto'
import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineContext } from './context.ts'
import { lockFileDigest } from './lock-file.ts'
import { runToFile } from './run-engine.ts'

/** The file under which the schemas of the pinned providers are cached; they depend on nothing else. */
export async function schemaFile({ engine, workingFolder, agent }: EngineContext): Promise<string> {
  const key = `${engine.product} ${engine.version} ${await lockFileDigest(workingFolder)}`
  return join(agent.schemaCache, `${createHash('sha256').update(key).digest('hex')}.json`)
}

/** Asks the engine for the schemas unless they are cached; `fresh` asks in any case. */
export async function fetchSchemas(context: EngineContext, path: string, fresh = false): Promise<void> {
  if (!fresh && (await stat(path).catch(() => undefined)) !== undefined) return
  // Written aside and renamed: another job may read the file meanwhile.
  const draft = `${path}.${randomUUID()}`
  await runToFile(context, ['providers', 'schema', '-json'], draft)
  await rename(draft, path)
}
