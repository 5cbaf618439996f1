import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import { makeDataDirectory } from '../directory.ts'
import { createFileOnce } from '../durable-file.ts'
import { ignoring } from '../error-code.ts'
import { StartError } from '../start-error.ts'

/**
 * The 32 bytes from which all keys of the installation are derived: `fromEnv` (64 hex digits, or base64), or the content of `<dataDir>/secret`,
 * which is generated on the first start, once for concurrent processes. Without it, everything that is encrypted at rest is lost.
 */
export async function loadSecret(dataDir: string, fromEnv?: string): Promise<Buffer> {
  return (await findSecret(dataDir, fromEnv)) ?? generateSecret(dataDir, join(dataDir, 'secret'))
}

/** Like `loadSecret`, but undefined if there is none. Throws a `StartError` for an invalid one. */
export async function findSecret(dataDir: string, fromEnv?: string): Promise<Buffer | undefined> {
  if (fromEnv !== undefined && fromEnv !== '') return parseSecret(fromEnv, 'GROUNDSTATE_SECRET')
  const path = join(dataDir, 'secret')
  const text = await ignoring('ENOENT', readFile(path, 'utf8')).catch((cause: unknown) => {
    throw new StartError(`can't use ${path}: ${reasonOf(cause)}`, { cause, advice: 'check GROUNDSTATE_DATA_DIR' })
  })
  return text === undefined ? undefined : parseSecret(text, path)
}

function parseSecret(text: string, source: string): Buffer {
  const bytes = secretBytes(text)
  if (!bytes) throw new StartError(`${source} must be ${SECRET_FORM}`)
  return bytes
}

async function generateSecret(dataDir: string, path: string): Promise<Buffer> {
  await makeDataDirectory(dataDir)
  await createFileOnce(path, `${randomBytes(SECRET_BYTES).toString('hex')}\n`)
  return parseSecret(await readFile(path, 'utf8'), path)
}

export const SECRET_BYTES = 32
/** Form of a secret in messages. */
export const SECRET_FORM = `${SECRET_BYTES} bytes, as 64 hex digits or as base64`

/** Parses a secret; undefined if it is invalid. */
export function secretBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const bytes = Buffer.from(trimmed, 'base64')
  return /^[A-Za-z0-9+/_-]+=?$/.test(trimmed) && bytes.length === SECRET_BYTES ? bytes : undefined
}
