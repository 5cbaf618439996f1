import { createHash, randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineContext } from './context.ts'
import { factsOf } from './facts-of.ts'
import { lockFileDigest } from './lock-file.ts'
import { runToFile } from './run-engine.ts'

/**
 * The file under which the schemas of the pinned providers are cached; they depend on nothing else. What is sensitive stands in
 * them, so that no organization gets those that another one's run has told.
 */
export async function schemaFile(context: EngineContext): Promise<string> {
  const { engine, agent, job } = context
  const key = `${job.organizationId} ${engine.product} ${engine.version} ${await lockFileDigest(context)}`
  return join(agent.schemaCache, `${createHash('sha256').update(key).digest('hex')}.json`)
}

/** Asks the engine for the schemas unless they are cached; `fresh` asks in any case. */
export async function fetchSchemas(context: EngineContext, path: string, fresh = false): Promise<void> {
  if (!fresh && factsOf(path) !== undefined) return
  // Written aside and renamed: another job may read the file meanwhile.
  const draft = `${path}.${randomUUID()}`
  await runToFile(context, ['providers', 'schema', '-json'], draft)
  await rename(draft, path)
}
