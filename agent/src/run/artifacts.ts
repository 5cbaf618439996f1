import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ArtifactKind, MAX_ARTIFACT_BYTES } from '@groundstate/contract/agent'
import { chownToRun } from '../isolation/run-directory.ts'
import { openConfined, readWhole, statsOf } from '../process/confined-file.ts'
import type { EngineContext, JobContext } from './context.ts'

/** Smaller files are read into memory for their upload, which is faster; larger ones are streamed, in bytes. */
const SMALL_FILE = 1024 * 1024

type Sender = Pick<JobContext, 'client' | 'outbox' | 'alive'>

/** Uploads a file created by the run, if it exists; returns whether it does. */
export async function uploadResult(context: EngineContext, kind: ArtifactKind, path: string): Promise<boolean> {
  using file = openConfined(path, context.directory)
  if (file === undefined) return false
  const { size } = file.stats
  if (size > MAX_ARTIFACT_BYTES)
    throw new Error(`the ${kind.replace('-', ' ')} has ${size} bytes, more than the maximum of ${MAX_ARTIFACT_BYTES}`)
  // By its descriptor, since the path may refer to another file by now.
  const large = { file: process.platform === 'linux' ? `/proc/self/fd/${file.fd}` : path, size }
  if (size < SMALL_FILE) await uploadBytes(context, kind, await readWhole(file))
  else await context.client.putArtifact(kind, large, context.alive)
  return true
}

/** Uploads a file created by the agent, if it exists; returns whether it does. */
export async function uploadFile(sender: Sender, kind: ArtifactKind, path: string): Promise<boolean> {
  const stats = statsOf(path)
  if (stats === undefined) return false
  if (stats.size < SMALL_FILE) await uploadBytes(sender, kind, await readFile(path))
  else await sender.client.putArtifact(kind, { file: path, size: stats.size }, sender.alive)
  return true
}

/** Maximum bytes sent with a report; larger files are sent before it. */
const OUTBOX_BYTES = 2 * 1024 * 1024

/** Sends a file from memory, as part of the next report if it fits. */
export async function uploadBytes({ client, outbox, alive }: Sender, kind: ArtifactKind, bytes: Uint8Array) {
  const waiting = outbox?.files.reduce((size, file) => size + file.bytes.length, 0) ?? OUTBOX_BYTES
  if (outbox !== undefined && waiting + bytes.length <= OUTBOX_BYTES) outbox.files.push({ kind, bytes })
  else await client.putArtifact(kind, bytes, alive)
}

/** Downloads an artifact of an earlier phase of the run; undefined if there is none. */
export async function downloadArtifact(context: EngineContext, kind: ArtifactKind, path: string) {
  const signal = AbortSignal.any([context.alive, context.stop.interrupt])
  return context.client.getArtifact(kind, signal, async (body) => {
    await pipeline(body, createWriteStream(path, { mode: 0o600 }))
    chownToRun(path, context.directory)
    return true
  })
}
