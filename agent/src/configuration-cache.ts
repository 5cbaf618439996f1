import { createHash, type Hash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { AgentJob } from '@groundstate/contract/agent'
import { unpackArchive } from './archive.ts'
import type { JobContext } from './context.ts'
import { handOver, type RunFolder } from './run-folder.ts'
import { copyTree, isSmallTree, restoreTree } from './tree-copy.ts'
import type { WarmFolders } from './warm-folders.ts'

/**
 * Puts the job's configuration into its folder: the one that this agent has unpacked before, or what the server sends. Answers
 * what names it; undefined when that is not what the job says.
 */
export async function placeConfiguration(
  { agent, client, job }: JobContext,
  folder: RunFolder,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const { warmFolders } = agent
  const facts = configurationFacts(job)
  const restore = async (copy: string) => restoreTree(copy, folder.configuration, folder)
  if (await warmFolders?.take(warmFolders.key(...facts), restore)) return facts

  const { digest, size } = await client.getConfiguration(signal, async (archive) => {
    // A copy that is not whole, or a download that broke off, has left files here.
    await rm(folder.configuration, { recursive: true })
    await mkdir(folder.configuration, { mode: 0o700 })
    handOver(folder.configuration, folder)
    const hash = createHash('sha256')
    const size = await unpackArchive(
      Readable.from(hashed(archive, hash), { objectMode: false }),
      folder.configuration,
      folder.user,
    )
    return { digest: hash.digest('hex'), size }
  })
  // What others get under that digest must have it.
  if (digest !== (job.configurationDigest ?? digest)) return undefined
  const keep = async (copy: string) => (await copyTree(folder.configuration, copy, folder)).bytes
  if (isSmallTree(size)) await warmFolders?.put(warmFolders.key(...facts), scopeOf(job), keep)
  return facts
}

/** What names a configuration. A server that tells no digest of it never gives its id to another one. */
function configurationFacts(job: AgentJob): readonly string[] {
  return [job.organizationId, job.configurationDigest ?? `id ${job.configurationVersionId}`]
}

/** After a failure the configuration is fetched again: nothing that this agent keeps is to blame for two of them. */
export async function forgetConfiguration(warmFolders: WarmFolders | undefined, job: AgentJob) {
  await warmFolders?.drop(warmFolders.key(...configurationFacts(job)))
}

function scopeOf({ organizationId }: AgentJob) {
  return `configurations of ${organizationId}`
}

async function* hashed(archive: Readable, hash: Hash) {
  for await (const piece of archive as AsyncIterable<Buffer>) {
    hash.update(piece)
    yield piece
  }
}
