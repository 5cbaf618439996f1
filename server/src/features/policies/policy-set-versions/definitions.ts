import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { readArchive } from '@groundstate/contract/archive'
import { POLICY_LEVELS, policyQuery } from '@groundstate/contract/policies'
import { storableText } from '@groundstate/contract/storable'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'
import type { Ctx } from '../../../app.ts'
import type { VersionPolicy } from './store.ts'

/** The parser takes 500 bytes of memory for a byte of some files. */
const MAX_DEFINITIONS_BYTES = 256 * 1024
const MAX_POLICIES = 1000
const DEFINITIONS = 'policies.hcl'

/** The archive of a policy set does not define its policies. The message is for the user who sent it. */
export class PolicyError extends Error {
  override name = 'PolicyError'
}

export type PolicyArchive = { policies: VersionPolicy[]; digest: string }

/** Reads `policies.hcl` in the directory of an archive. Throws `PolicyError` unless it defines policies, and `ArchiveError` for an invalid archive. */
export async function readPolicies(
  ctx: Pick<Ctx, 'workers'>,
  archive: Readable,
  policiesPath: string,
): Promise<PolicyArchive> {
  const { definitions, digest, paths } = await unpack(archive, policiesPath)
  const inDirectory = policiesPath === '' ? 'the root of the archive' : `the directory ${policiesPath} of the archive`
  if (definitions === undefined) {
    if (paths.has('sentinel.hcl'))
      throw new PolicyError(
        `${inDirectory} has sentinel.hcl: Sentinel is not supported by this server; write the policies in Rego and define them in ${DEFINITIONS}`,
      )
    const other = [...paths].find((path) => path.endsWith('.tfpolicy.hcl'))
    if (other !== undefined)
      throw new PolicyError(
        `${inDirectory} has ${other}: the policy language of Terraform is not supported by this server; write the policies in Rego and define them in ${DEFINITIONS}`,
      )
    throw new PolicyError(`${inDirectory} has no ${DEFINITIONS}, which defines the policies`)
  }
  if (![...paths].some((path) => path.endsWith('.rego') && !path.endsWith('_test.rego')))
    throw new PolicyError(`${inDirectory} has no .rego file, which would contain the code of the policies`)
  const [file] = await ctx.workers.parseHcl([{ path: DEFINITIONS, text: definitions.toString('utf8') }])
  if (file?.body === undefined) throw new PolicyError(`${DEFINITIONS} is not valid HCL: ${file?.problem}`)
  return { policies: policiesOf(file.body), digest }
}

/** The content of `policies.hcl`, the paths below the directory, relative to it, and the SHA-256 of the archive. */
async function unpack(archive: Readable, policiesPath: string) {
  const paths = new Set<string>()
  const chunks: Buffer[] = []
  let hasDefinitions = false
  let size = 0
  const hash = createHash('sha256')

  function onReadEntry(entry: ReadEntry) {
    const path = normalizedDirectory(entry.path)
    const below = policiesPath === '' ? '' : `${policiesPath}/`
    if (path.startsWith(below) && entry.type !== 'Directory') {
      const name = path.slice(below.length)
      if (/\.rego$|\.hcl$/.test(name)) paths.add(name)
      if (name === DEFINITIONS && entry.type !== 'SymbolicLink' && entry.type !== 'Link') {
        hasDefinitions = true
        // A later entry replaces an earlier one.
        chunks.length = 0
        size = 0
        entry.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size <= MAX_DEFINITIONS_BYTES) chunks.push(Buffer.from(chunk))
        })
      }
    }
    entry.resume()
  }

  async function* hashed() {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      hash.update(chunk)
      yield chunk
    }
  }

  await readArchive(hashed(), {}, (options) => new Parser({ ...options, onReadEntry }))
  if (size > MAX_DEFINITIONS_BYTES)
    throw new PolicyError(`${DEFINITIONS} is larger than ${MAX_DEFINITIONS_BYTES} bytes`)
  const definitions = hasDefinitions ? Buffer.concat(chunks) : undefined
  return { definitions, paths, digest: hash.digest('hex') }
}

const ATTRIBUTES = ['query', 'enforcement_level', 'description']

function policiesOf(body: Record<string, unknown>): VersionPolicy[] {
  const unknown = Object.keys(body).find((name) => name !== 'policy')
  if (unknown !== undefined) throw new PolicyError(`${DEFINITIONS} has ${unknown}; it may only have policy blocks`)
  const blocks = body['policy']
  if (!isObject(blocks))
    throw new PolicyError(`${DEFINITIONS} defines no policy: it needs blocks such as policy "name" {…}`)
  const policies = Object.entries(blocks).map(([name, block]) => policyOf(name, block))
  if (policies.length > MAX_POLICIES) throw new PolicyError(`${DEFINITIONS} defines more than ${MAX_POLICIES} policies`)
  return policies
}

function policyOf(name: string, block: unknown): VersionPolicy {
  const title = `${DEFINITIONS}: policy ${JSON.stringify(name.slice(0, 200))}`
  if (!/^[A-Za-z0-9_.-]{1,255}$/.test(name))
    throw new PolicyError(
      `${title} has an invalid name: it may only contain letters, numbers, underscores, dots and hyphens`,
    )
  if (!Array.isArray(block)) throw new PolicyError(`${title} has a second label; a policy has one, its name`)
  if (block.length > 1) throw new PolicyError(`${title} is defined ${block.length} times`)
  const attributes: unknown = block[0]
  if (!isObject(attributes)) throw new PolicyError(`${title} is not a block`)
  const unknown = Object.keys(attributes).find((key) => !ATTRIBUTES.includes(key))
  if (unknown !== undefined) throw new PolicyError(`${title} has ${unknown}; it may only have ${ATTRIBUTES.join(', ')}`)
  const text = (key: string) => {
    const value = attributes[key]
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value.includes('${'))
      throw new PolicyError(`${title}: ${key} must be a text in quotes`)
    return storableText(value)
  }
  const query = policyQuery.safeParse(text('query'))
  if (attributes['query'] === undefined)
    throw new PolicyError(`${title} has no query, such as query = "data.terraform.policies.deny"`)
  if (!query.success) throw new PolicyError(`${title}: ${query.error.issues[0]?.message}`)
  const level = text('enforcement_level') ?? 'advisory'
  const known = POLICY_LEVELS.find((each) => each === level)
  if (!known)
    throw new PolicyError(
      `${title}: enforcement_level is ${JSON.stringify(level.slice(0, 100))}; it must be ${POLICY_LEVELS.join(' or ')}`,
    )
  return { name, query: query.data, enforcement_level: known, description: (text('description') ?? '').slice(0, 5000) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
