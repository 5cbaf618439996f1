import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { StartError } from '../start-error.ts'

/** A line of a list of checksums, in the format of `sha256sum`; `path` is relative to the backup. */
export type FileSum = { sha256: string; path: string }

/** The list of a part of a backup, by the manifest. */
export type SumsDigest = { files: number; bytes: number; sha256: string }

const FLUSH_BYTES = 64 * 1024

/** Writes a list of checksums. `end` makes it durable. */
export class SumsWriter {
  #file: FileHandle
  #hash: Hash = createHash('sha256')
  #pending = ''
  /** The last write: writes at the same time could change their order. */
  #written: Promise<void> = Promise.resolve()
  #files = 0
  #bytes = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async create(path: string) {
    return new SumsWriter(await open(path, 'wx', 0o600))
  }

  /** `bytes` is the size of the file. */
  async add({ sha256, path }: FileSum, bytes: number) {
    this.#pending += `${sha256}  ${path}\n`
    this.#files += 1
    this.#bytes += bytes
    if (this.#pending.length >= FLUSH_BYTES) await this.#flush()
  }

  async end(): Promise<SumsDigest> {
    await this.#flush()
    await this.#file.sync()
    await this.#file.close()
    return { files: this.#files, bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }

  async [Symbol.asyncDispose]() {
    await this.#file.close().catch(() => {})
  }

  async #flush() {
    const text = this.#pending
    this.#pending = ''
    this.#hash.update(text)
    this.#written = this.#written.then(async () => this.#file.appendFile(text))
    await this.#written
  }
}

const LINE = /^([0-9a-f]{64}) {2}((?:[^/]+\/)*[^/]+)$/

/** Reads a list of checksums line by line. Throws a `StartError` for a line that `SumsWriter` does not write. */
export async function* readSums(path: string): AsyncGenerator<FileSum> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: 0 })) {
    const [, sha256, file] = LINE.exec(line) ?? []
    if (sha256 === undefined || file === undefined || file.split('/').some((part) => part === '..' || part === '.'))
      throw new StartError(`the line ${JSON.stringify(line.slice(0, 200))} of ${path} is not a checksum and a path`)
    yield { sha256, path: file }
  }
}

/** Finds checksums by directory in a list whose directories are sorted, in one pass: callers ask in the same order. */
export class SortedSums implements AsyncDisposable {
  #lines: AsyncGenerator<FileSum>
  #next: FileSum | undefined
  #isStarted = false

  constructor(path: string) {
    this.#lines = readSums(path)
  }

  /** The checksums of the files in a directory, such as `blobs/objects/0/~00`, by name. */
  async in(directory: string): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    if (!this.#isStarted) await this.#advance()
    this.#isStarted = true
    for (; this.#next !== undefined; await this.#advance()) {
      const { path, sha256 } = this.#next
      const slash = path.lastIndexOf('/')
      const parent = path.slice(0, slash)
      if (parent > directory) break
      if (parent === directory) found.set(path.slice(slash + 1), sha256)
    }
    return found
  }

  async [Symbol.asyncDispose]() {
    await this.#lines.return(undefined)
  }

  async #advance() {
    const { value } = await this.#lines.next()
    this.#next = value === undefined ? undefined : value
  }
}
