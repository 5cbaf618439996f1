import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici'
import { type Entry, openPromise } from 'yauzl'
import { z } from 'zod'
import { parseJson } from '../server/connection.ts'
import { ENGINE_KEYS, type Product } from './engine-keys.ts'
import { checkSignature } from './engine-signature.ts'

/** The largest archive and binary that are accepted; those of today are a third of that. In bytes. */
const LARGEST_ARCHIVE = 400 * 1024 * 1024
const LARGEST_BINARY = 1024 * 1024 * 1024
const LARGEST_TEXT = 32 * 1024 * 1024
/** A whole download may take this long, in ms. */
const TIME_LIMIT_MS = 10 * 60_000
/** A mirror that failed is not asked for the same thing again for this long, in ms. */
const FAILED_MS = 60_000

export type DownloadSettings = {
  /** Base addresses, with the layout of the official ones. */
  mirrors: Record<Product, string>
  /** A file of PGP public keys that may have signed as well. */
  keyFile?: string | undefined
}

/** Downloads engines into a directory: `<product>/<version>/<product>` below `directory`. */
export type EngineDownloads = {
  directory: string
  /** Resolves when the version is in the directory. Rejects with what is wrong, for people. */
  download: (product: Product, version: string) => Promise<void>
  /** The versions that the mirror offers. */
  listVersions: (product: Product) => Promise<string[]>
}

const LAYOUT = {
  terraform: {
    release: (mirror: string, version: string) => `${mirror}/terraform/${version}`,
    signature: 'sig',
    index: (mirror: string) => `${mirror}/terraform/index.json`,
  },
  tofu: {
    release: (mirror: string, version: string) => `${mirror}/v${version}`,
    // The file that ends in .sig is one of cosign.
    signature: 'gpgsig',
    index: (mirror: string) =>
      mirror.startsWith('https://github.com/') ? 'https://get.opentofu.org/tofu/api.json' : `${mirror}/api.json`,
  },
} as const

/** Removes what a dead agent has left half done, and answers the downloads of this one. */
export async function openEngineDownloads(directory: string, settings: DownloadSettings): Promise<EngineDownloads> {
  await makeOpenDirectory(directory)
  for (const name of await readdir(directory)) {
    if (name.startsWith('.draft-')) await rm(join(directory, name), { recursive: true, force: true })
  }
  const dispatcher = new EnvHttpProxyAgent().compose(interceptors.redirect({ maxRedirections: 5 }))

  async function download(product: Product, version: string) {
    const signal = AbortSignal.timeout(TIME_LIMIT_MS)
    const fetched = { dispatcher, signal }
    const release = LAYOUT[product].release(settings.mirrors[product], version)
    const name = `${product}_${version}`
    const archiveName = `${name}_${platformName()}.zip`
    const sumsUrl = `${release}/${name}_SHA256SUMS`
    const sums = await fetchBytes(sumsUrl, fetched)
    const signature = await fetchBytes(`${sumsUrl}.${LAYOUT[product].signature}`, fetched)
    await checkSignature(sums, signature, await armoredKeys(product)).catch((error: unknown) => {
      throw new Error(`the signature of ${sumsUrl} is refused: ${messageOf(error)}`)
    })
    const wanted = checksumOf(sums.toString(), archiveName)
    if (wanted === undefined) throw new Error(`${sumsUrl} names no ${archiveName}: it is not made for this machine`)

    const draft = join(directory, `.draft-${randomUUID()}`)
    try {
      await makeOpenDirectory(join(draft, version))
      const archive = join(draft, archiveName)
      const found = await fetchToFile(`${release}/${archiveName}`, archive, fetched)
      if (found !== wanted) {
        throw new Error(`${release}/${archiveName} has the SHA-256 ${found}, and its signed list says ${wanted}`)
      }
      await unzipBinary(archive, product, join(draft, version, product))
      await makeOpenDirectory(join(directory, product))
      await moveInto(join(draft, version), join(directory, product, version))
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }

  async function armoredKeys(product: Product): Promise<string[]> {
    const own = settings.keyFile === undefined ? [] : [await readFile(settings.keyFile, 'utf8')]
    return [ENGINE_KEYS[product].armored, ...own]
  }

  async function listVersions(product: Product): Promise<string[]> {
    const url = LAYOUT[product].index(settings.mirrors[product])
    const bytes = await fetchBytes(url, { dispatcher, signal: AbortSignal.timeout(60_000) })
    const read = index.safeParse(parseJson(bytes.toString()))
    if (!read.success) throw new Error(`${url} is no list of versions`)
    const { versions } = read.data
    return Array.isArray(versions) ? versions.map(({ id }) => id.replace(/^v/, '')) : Object.keys(versions)
  }

  return {
    directory,
    download: once((product, version) => download(product, version)),
    listVersions: once(listVersions),
  }
}

/** Hashicorp's is an object by version, OpenTofu's a list. */
const index = z.object({
  versions: z.union([z.array(z.object({ id: z.string() })), z.record(z.string(), z.unknown())]),
})

/** Jobs that want the same thing at the same time share one attempt, and a failure holds for a while. */
function once<T>(work: (product: Product, version: string) => Promise<T>) {
  const underWay = new Map<string, Promise<T>>()
  return (product: Product, version = ''): Promise<T> => {
    const key = `${product} ${version}`
    const known = underWay.get(key)
    if (known !== undefined) return known
    const attempt = work(product, version)
    underWay.set(key, attempt)
    attempt.then(
      () => underWay.delete(key),
      () => setTimeout(() => underWay.delete(key), FAILED_MS).unref(),
    )
    return attempt
  }
}

type Fetch = { dispatcher: Dispatcher; signal: AbortSignal }

async function open(url: string, { dispatcher, signal }: Fetch): Promise<Readable> {
  const { statusCode, body } = await request(url, {
    dispatcher,
    signal,
    headersTimeout: 30_000,
    bodyTimeout: 60_000,
  }).catch((error: unknown) => {
    throw new Error(`${url} can't be reached: ${messageOf(error)}`)
  })
  if (statusCode === 200) return body
  await body.dump()
  const hint = statusCode === 404 || statusCode === 403 ? ': there is no such version' : ''
  throw new Error(`${url} answered ${statusCode}${hint}`)
}

async function fetchBytes(url: string, fetched: Fetch): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of await open(url, fetched)) {
    chunks.push(chunk)
    size += chunk.length
    if (size > LARGEST_TEXT) throw new Error(`${url} is too large`)
  }
  return Buffer.concat(chunks)
}

/** The SHA-256 of what was written, in hex. */
async function fetchToFile(url: string, path: string, fetched: Fetch): Promise<string> {
  const hash = createHash('sha256')
  const check = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  const body = await open(url, fetched)
  await pipeline(body, check, limitOf(LARGEST_ARCHIVE, url), createWriteStream(path)).catch((error: unknown) => {
    throw new Error(`${url} broke off: ${messageOf(error)}`)
  })
  return hash.digest('hex')
}

function limitOf(limit: number, what: string) {
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
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
      await pipeline(content, limitOf(LARGEST_BINARY, fileName), createWriteStream(path))
      await chmod(path, 0o755)
      return
    }
  } finally {
    zip.close()
  }
  throw new Error(`${archive} holds no ${product}`)
}

/** For the users of runs, whatever the umask is. */
async function makeOpenDirectory(path: string) {
  await mkdir(path, { recursive: true })
  await chmod(path, 0o755)
}

/** Another agent of this machine may have been faster: what it has put there is as good. */
async function moveInto(from: string, to: string) {
  try {
    await rename(from, to)
  } catch (error) {
    if (!(await stat(to).catch(() => undefined))) throw error
  }
}

const ARCHES: Record<string, string> = { x64: 'amd64', ia32: '386' }

function platformName(): string {
  return `${platform()}_${ARCHES[arch()] ?? arch()}`
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return error.message === '' ? code : error.message
}
