import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import { z } from 'zod'
import { dataFileAdvice, makeDataDirectory } from '../directory.ts'
import { createFileOnce } from '../durable-file.ts'
import { ignoring } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import { shownKeyId } from './key-id.ts'
import type { SecretSet } from './secrets.ts'

/** Settings take precedence over the files `secret` and `previous-secrets` in `dataDir`. */
export type SecretSettings = {
  dataDir: string
  secret?: string | undefined
  previousSecrets?: readonly string[] | undefined
}

/**
 * The secrets of the installation: from the settings (64 hex digits, or base64), or the content of `<dataDir>/secret`, which is generated on the
 * first start, once for concurrent processes. Without it, everything that is encrypted at rest is lost. Throws a `StartError`.
 */
export async function loadSecrets(settings: SecretSettings): Promise<SecretSet> {
  const found = await findSecrets(settings)
  if (found) return found
  const current = await generateSecret(settings.dataDir, join(settings.dataDir, 'secret'))
  return withPrevious(current, settings)
}

/** Like `loadSecrets`, but undefined without a current secret. Throws a `StartError` for an invalid one. */
export async function findSecrets(settings: SecretSettings): Promise<SecretSet | undefined> {
  const current = await findCurrent(settings)
  return current && withPrevious(current, settings)
}

/** Source of the current secret, for messages. */
export function secretSource({ dataDir, secret }: SecretSettings) {
  return isSet(secret) ? 'GROUNDSTATE_SECRET' : join(dataDir, 'secret')
}

async function findCurrent({ dataDir, secret }: SecretSettings): Promise<Buffer | undefined> {
  if (isSet(secret)) return parseSecret(secret, 'GROUNDSTATE_SECRET')
  const path = join(dataDir, 'secret')
  const text = await readSecretFile(path)
  return text === undefined ? undefined : parseSecret(text, path)
}

function isSet(secret: string | undefined): secret is string {
  return secret !== undefined && secret !== ''
}

async function withPrevious(current: Buffer, { dataDir, previousSecrets }: SecretSettings): Promise<SecretSet> {
  const path = join(dataDir, 'previous-secrets')
  const source = previousSecrets === undefined ? path : 'GROUNDSTATE_PREVIOUS_SECRETS'
  const texts = previousSecrets ?? listedSecrets((await readSecretFile(path)) ?? '')
  const previous = texts.map((text, index) => parseSecret(text, `the ${ordinal(index + 1)} secret in ${source}`))
  for (const [index, secret] of previous.entries()) {
    if (secret.equals(current)) {
      throw new StartError(`${source} lists the current secret (id ${shownKeyId(secret)})`, {
        advice: 'list only the other ones there',
      })
    }
    if (previous.slice(0, index).some((other) => other.equals(secret)))
      throw new StartError(`${source} lists the secret with the id ${shownKeyId(secret)} twice`)
  }
  return { current, previous }
}

async function readSecretFile(path: string) {
  return ignoring('ENOENT', readFile(path, 'utf8')).catch((cause: unknown) => {
    const advice = dataFileAdvice(dirname(path), cause)
    throw new StartError(`can't use ${path}: ${reasonOf(cause)}`, { cause, advice })
  })
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
const SECRET_FORM = `${SECRET_BYTES} bytes, as 64 hex digits or as base64`

/** Parses a secret; undefined if it is invalid. */
export function secretBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const bytes = Buffer.from(trimmed, 'base64')
  return /^[A-Za-z0-9+/_-]+=?$/.test(trimmed) && bytes.length === SECRET_BYTES ? bytes : undefined
}

/** A secret as text. */
export const oneSecret = z.string().refine((text) => secretBytes(text) !== undefined, `it must be ${SECRET_FORM}`)

/** Secrets separated by commas or white space. */
export const secretList = z.string().transform((text, context) => {
  const secrets = listedSecrets(text)
  for (const [index, secret] of secrets.entries())
    if (secretBytes(secret) === undefined) context.addIssue(`the ${ordinal(index + 1)} secret must be ${SECRET_FORM}`)
  return secrets
})

function listedSecrets(text: string): string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '')
}

/** Position of an item of a list in messages, from 1: `2nd`. */
function ordinal(position: number) {
  const suffix = ['th', 'st', 'nd', 'rd'][position % 100 > 10 && position % 100 < 14 ? 0 : position % 10] ?? 'th'
  return `${position}${suffix}`
}
