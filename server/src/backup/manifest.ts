import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import { z } from 'zod'
import { createFileOnce } from '../durable-file.ts'
import { codeOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'

/** Names in a backup. The manifest is written last, so a backup without one is incomplete. */
export const MANIFEST = 'backup.json'
export const DATABASE = 'database'
export const BLOBS = 'blobs'
/** The secret and the TLS keys, if they were asked for. */
export const KEYS = 'keys'
/** Lists of checksums of the parts, by directory. */
export const SUMS = { [DATABASE]: 'database.sha256', [BLOBS]: 'blobs.sha256', [KEYS]: 'keys.sha256' } as const

/** Suffix of the directory of a backup that is being written. */
export const PARTIAL_SUFFIX = '.partial'

/** A path below a directory. */
const innerPath = z
  .string()
  .regex(/^(?:[\w.-]+\/)*[\w.-]+$/)
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'))

const digest = z.object({ files: z.int(), bytes: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })

const schema = z.object({
  format: z.literal(1),
  createdAt: z.iso.datetime(),
  /** Distinguishes installations by their secrets, without revealing them. */
  secretMark: z.string(),
  /** Id and location of the blob store. */
  store: z.object({ id: z.string(), place: z.string() }),
  migrations: z.array(z.string()),
  database: digest
    .extend({
      /** Major version of PostgreSQL. */
      postgres: z.string(),
      /** Directories, also empty ones, which PostgreSQL requires. */
      directories: z.array(innerPath),
    })
    .optional(),
  blobs: digest.optional(),
  hasKeys: z.boolean(),
  /** Earlier versions wrote no checksums of the keys. */
  keys: digest.optional(),
})
export type Manifest = z.infer<typeof schema>

export class DamagedManifest extends StartError {}

export async function writeManifest(directory: string, manifest: Manifest) {
  await createFileOnce(join(directory, MANIFEST), `${JSON.stringify(manifest, undefined, 2)}\n`)
}

/** Throws a `StartError` for a directory that is no complete backup, such as a `DamagedManifest`. */
export async function readManifest(directory: string): Promise<Manifest> {
  const path = join(directory, MANIFEST)
  const text = await readFile(path, 'utf8').catch(async (error: unknown) => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') throw await notBackup(directory)
    throw new DamagedManifest(`can't read ${path}: ${reasonOf(error)}`, { cause: error })
  })
  try {
    const json: unknown = JSON.parse(text)
    const { format } = z.object({ format: z.number() }).parse(json)
    if (format === 1) return schema.parse(json)
  } catch (cause) {
    throw new DamagedManifest(`${path} is damaged`, { cause, advice: 'use another backup' })
  }
  throw new StartError(`${directory} was written by a newer version of Groundstate`, { advice: 'use that version' })
}

async function notBackup(directory: string) {
  const entries = await stat(directory).then(
    async (found) => (found.isDirectory() ? readdir(directory) : undefined),
    () => undefined,
  )
  if (!entries) return new StartError(`there is no backup ${directory}`)
  if (directory.endsWith(PARTIAL_SUFFIX) || Object.values(SUMS).some((name) => entries.includes(name)))
    return new StartError(`the backup ${directory} is incomplete: it was interrupted`, { advice: 'use another one' })
  const latest = (await listBackups(directory)).at(-1)
  return new StartError(
    `${directory} is no backup`,
    latest === undefined ? {} : { advice: `the latest one in it is ${latest}` },
  )
}

/** Paths of the complete backups in a directory, the oldest first. */
export async function listBackups(parent: string): Promise<string[]> {
  const names = await readdir(parent)
  const found: string[] = []
  for (const name of names.filter((each) => /^\d{4}-.*Z$/.test(each)).toSorted()) {
    const isComplete = await stat(join(parent, name, MANIFEST)).then(
      () => true,
      () => false,
    )
    if (isComplete) found.push(join(parent, name))
  }
  return found
}
