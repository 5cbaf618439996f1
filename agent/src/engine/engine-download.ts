import { type Hash, createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Key, createMessage, enums, readKeys, readSignature } from 'openpgp'
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici'
import { type Entry, openPromise } from 'yauzl'
import { z } from 'zod'
import { messageOf } from '../process/errors.ts'
import { parseJson } from '../server/connection.ts'
import { ENGINE_KEYS, type Product } from './engine-keys.ts'

/** Size limits in bytes, three times today's sizes. */
const MAX_ARCHIVE_BYTES = 400 * 1024 * 1024
const MAX_BINARY_BYTES = 1024 * 1024 * 1024
const MAX_TEXT_BYTES = 32 * 1024 * 1024
export const DOWNLOAD_TIMEOUT_MS = 10 * 60_000
const RETRY_DELAY_MS = 60_000

export type DownloadSettings = {
  /** Base addresses, with the layout of the official ones. */
  mirrors: Record<Product, string>
  /** A file of further trusted PGP public keys. */
  keyFile?: string | undefined
}

export type EngineDownloads = Awaited<ReturnType<typeof openEngineDownloads>>

const LAYOUT = {
  terraform: {
    release: (mirror: string, version: string) => `${mirror}/terraform/${version}`,
    signature: 'sig',
    index: (mirror: string) => `${mirror}/terraform/index.json`,
  },
  tofu: {
    release: (mirror: string, version: string) => `${mirror}/v${version}`,
    // The `.sig` file is a cosign signature.
    signature: 'gpgsig',
    index: (mirror: string) =>
      mirror.startsWith('https://github.com/') ? 'https://get.opentofu.org/tofu/api.json' : `${mirror}/api.json`,
  },
} as const

/** The list of versions: HashiCorp's is an object by version, OpenTofu's an array. */
const versionIndex = z.object({
  versions: z.union([z.array(z.object({ id: z.string() })), z.record(z.string(), z.unknown())]),
})

/** Downloads engines to `<product>/<version>/<product>` in a directory. Removes incomplete downloads of a dead agent. */
export async function openEngineDownloads(directory: string, settings: DownloadSettings) {
  await makeOpenDirectory(directory)
  for (const name of await readdir(directory)) {
    if (name.startsWith('.draft-')) await rm(join(directory, name), { recursive: true, force: true })
  }
  const dispatcher = downloadDispatcher()

  /** Rejects with a message for users. */
  async function download(product: Product, version: string) {
    const options = { dispatcher, signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) }
    const release = LAYOUT[product].release(settings.mirrors[product], version)
    const name = `${product}_${version}`
    const archiveName = `${name}_${platformName()}.zip`
    const sumsUrl = `${release}/${name}_SHA256SUMS`
    const sums = await fetchBytes(sumsUrl, options)
    const signature = await fetchBytes(`${sumsUrl}.${LAYOUT[product].signature}`, options)
    const { keyFile } = settings
    const keys = [ENGINE_KEYS[product].armored, ...(keyFile === undefined ? [] : [await readFile(keyFile, 'utf8')])]
    await checkSignature(sums, signature, keys).catch((error: unknown) => {
      throw new Error(`the signature of ${sumsUrl} is refused: ${messageOf(error)}`)
    })
    const expected = checksumOf(sums.toString(), archiveName)
    if (expected === undefined)
      throw new Error(`${sumsUrl} does not list ${archiveName}, the archive for this platform`)

    const draft = join(directory, `.draft-${randomUUID()}`)
    try {
      await makeOpenDirectory(join(draft, version))
      const archive = join(draft, archiveName)
      const actual = await fetchToFile(`${release}/${archiveName}`, archive, options)
      if (actual !== expected)
        throw new Error(`${release}/${archiveName} has the SHA-256 ${actual}, but its signed list has ${expected}`)
      await unzipBinary(archive, product, join(draft, version, product))
      await makeOpenDirectory(join(directory, product))
      await moveInto(join(draft, version), join(directory, product, version))
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }

  async function listVersions(product: Product): Promise<string[]> {
    const url = LAYOUT[product].index(settings.mirrors[product])
    const bytes = await fetchBytes(url, { dispatcher, signal: AbortSignal.timeout(60_000) })
    const { data } = versionIndex.safeParse(parseJson(bytes.toString()))
    if (!data) throw new Error(`${url} is not a list of versions`)
    const { versions } = data
    return Array.isArray(versions) ? versions.map(({ id }) => id.replace(/^v/, '')) : Object.keys(versions)
  }

  return { directory, download: shared(download), listVersions: shared(listVersions) }
}

/** Follows the redirects of release pages, through the proxy of the environment. */
export function downloadDispatcher(): Dispatcher {
  return new EnvHttpProxyAgent().compose(interceptors.redirect({ maxRedirections: 5 }))
}

/** Concurrent calls share one attempt, and a failure is kept for a while. */
function shared<T>(work: (product: Product, version: string) => Promise<T>) {
  const attempts = new Map<string, Promise<T>>()
  return (product: Product, version = ''): Promise<T> => {
    const key = `${product} ${version}`
    const running = attempts.get(key)
    if (running !== undefined) return running
    const attempt = work(product, version)
    attempts.set(key, attempt)
    attempt.then(
      () => attempts.delete(key),
      () => setTimeout(() => attempts.delete(key), RETRY_DELAY_MS).unref(),
    )
    return attempt
  }
}

export type FetchOptions = { dispatcher: Dispatcher; signal: AbortSignal }

async function open(url: string, options: FetchOptions) {
  const timeouts = { headersTimeout: 30_000, bodyTimeout: 60_000 }
  const { statusCode, body } = await request(url, { ...options, ...timeouts }).catch((error: unknown) => {
    throw new Error(`cannot reach ${url}: ${messageOf(error)}`)
  })
  if (statusCode === 200) return body
  await body.dump()
  const hint = statusCode === 404 || statusCode === 403 ? ': there is no such version' : ''
  throw new Error(`${url} responded with ${statusCode}${hint}`)
}

export async function fetchBytes(url: string, options: FetchOptions): Promise<Buffer> {
  return pipeline(await open(url, options), limitOf(MAX_TEXT_BYTES, url), buffer)
}

export async function fetchToFile(url: string, path: string, options: FetchOptions): Promise<string> {
  const hash = createHash('sha256')
  const body = await open(url, options)
  await pipeline(body, limitOf(MAX_ARCHIVE_BYTES, url, hash), createWriteStream(path)).catch((error: unknown) => {
    throw new Error(`the download of ${url} was interrupted: ${messageOf(error)}`)
  })
  return hash.digest('hex')
}

function limitOf(limit: number, what: string, hash?: Hash) {
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      hash?.update(chunk)
      if (size > limit) done(new Error(`${what} is larger than ${limit} bytes`))
      else done(null, chunk)
    },
  })
}

function checksumOf(sums: string, name: string): string | undefined {
  const lines = sums.split('\n').map((line) => line.trim().split(/\s+\*?/, 2))
  return lines.find(([hash = '', file]) => file === name && /^[0-9a-f]{64}$/.test(hash))?.[0]
}

async function unzipBinary(archive: string, product: Product, path: string) {
  const zip = await openPromise(archive)
  try {
    for await (const entry of zip.eachEntry()) {
      const { fileName }: Entry = entry
      if (fileName !== product) continue
      const content = await zip.openReadStreamPromise(entry)
      await pipeline(content, limitOf(MAX_BINARY_BYTES, fileName), createWriteStream(path))
      await chmod(path, 0o755)
      return
    }
  } finally {
    zip.close()
  }
  throw new Error(`${archive} contains no ${product}`)
}

/** Creates a directory that the users of runs may read, whatever the umask is. */
export async function makeOpenDirectory(path: string) {
  await mkdir(path, { recursive: true })
  await chmod(path, 0o755)
}

/** Another agent of this machine may have downloaded the same version first. */
export async function moveInto(from: string, to: string) {
  await rename(from, to).catch(async (error: unknown) => {
    if (!(await stat(to).catch(() => undefined))) throw error
  })
}

export function platformName(): string {
  const names: Record<string, string> = { x64: 'amd64', ia32: '386' }
  return `${platform()}_${names[arch()] ?? arch()}`
}

/** Hashes without known collisions. */
const HASHES = new Set<number>([enums.hash.sha256, enums.hash.sha384, enums.hash.sha512])

/** Verifies a detached PGP signature against trusted keys; throws if none made it. Ignores the expiry of keys, as the engines do for providers. */
async function checkSignature(signed: Uint8Array, signature: Uint8Array, armoredKeys: readonly string[]) {
  const keys = (await Promise.all(armoredKeys.map((armored) => readKeys({ armoredKeys: armored })))).flat()
  const { packets } = await parseSignature(signature)
  const message = await createMessage({ binary: new Uint8Array(signed) })
  const [literal] = message.packets
  if (literal === undefined) throw new Error('there is nothing to check')
  const reasons: string[] = []
  for (const packet of packets) {
    const keyId = packet.issuerKeyID.toHex().toUpperCase()
    const key = signingKey(keys, packet.issuerKeyID)
    if (key === undefined) reasons.push(`the key ${keyId}, which made it, is not trusted`)
    else if (!HASHES.has(packet.hashAlgorithm ?? 0)) reasons.push('it uses a weak hash')
    else {
      try {
        await packet.verify(key.keyPacket, enums.signature.binary, literal, new Date(), true)
        return
      } catch (error) {
        reasons.push(`${keyId}: ${messageOf(error)}`)
      }
    }
  }
  throw new Error(reasons.length === 0 ? 'it contains no signature' : reasons.join('; '))
}

async function parseSignature(bytes: Uint8Array) {
  const text = Buffer.from(bytes.subarray(0, 64)).toString('latin1')
  try {
    return await (text.startsWith('-----BEGIN PGP')
      ? readSignature({ armoredSignature: Buffer.from(bytes).toString() })
      : readSignature({ binarySignature: new Uint8Array(bytes) }))
  } catch (error) {
    throw new Error('it is not a PGP signature', { cause: error })
  }
}

function signingKey(keys: Key[], keyId: Parameters<Key['getKeys']>[0]) {
  return keys
    .filter(({ revocationSignatures }) => revocationSignatures.length === 0)
    .flatMap((key) => key.getKeys(keyId))
    .find((key) => !('revocationSignatures' in key) || key.revocationSignatures.length === 0)
}
