import { createWriteStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { ArtifactKind } from '@groundstate/contract/agent'
import type { JobContext, EngineContext } from './context.ts'

/** A file below this is read into memory for its upload, which is quicker; a larger one is streamed, in bytes. */
const SMALL_FILE = 1024 * 1024

/** Uploads a file if it exists; returns whether it does. */
export async function uploadFile(jobContext: JobContext, kind: ArtifactKind, path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return false
  const body = facts.size < SMALL_FILE ? await readFile(path) : { file: path, size: facts.size }
  await jobContext.client.putArtifact(kind, body, jobContext.alive)
  return true
}

/** Downloads an artifact of an earlier phase of the run; returns whether there is one. */
export async function downloadArtifact(context: EngineContext, kind: ArtifactKind, path: string): Promise<boolean> {
  const signal = AbortSignal.any([context.alive, context.stop.interrupt])
  const received = await context.client.getArtifact(kind, signal, async (body) => {
    await pipeline(body, createWriteStream(path, { mode: 0o600 }))
    return true
  })
  return received ?? false
}
