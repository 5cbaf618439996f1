import { createHash, type Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SMALL_BYTES } from './driver.ts'
import { BlobTooLargeError } from './errors.ts'

export type BlobContent = Buffer | Readable | AsyncIterable<Uint8Array>

/** `size` and `md5` (lower-case hex) describe the original content; `storedSize` is its sealed size. Sizes are in bytes. */
export type BlobInfo = { size: number; md5: string; storedSize: number }

const SLICE_BYTES = 128 * 1024
const BYTES_PER_TURN = 1024 * 1024

/** Reads the beginning of content. Small content is returned whole, without `rest`. `close` releases a partly read source. */
export async function takeHead(content: BlobContent) {
  const close = async () => {}
  if (Buffer.isBuffer(content)) {
    if (content.length <= SMALL_BYTES) return { head: content, close }
    return { head: Buffer.alloc(0), rest: slices(content), close }
  }

  // By default, a stream is destroyed when its iteration ends early. Destroying a request would also abort its error response.
  const source: AsyncIterable<Uint8Array> =
    content instanceof Readable ? content.iterator({ destroyOnReturn: false }) : content
  const iterator = source[Symbol.asyncIterator]()
  const head: Buffer[] = []
  let headBytes = 0
  while (headBytes <= SMALL_BYTES) {
    const next = await iterator.next()
    if (next.done === true) return { head: Buffer.concat(head), close }
    head.push(asBuffer(next.value))
    headBytes += next.value.length
  }
  const closeIterator = async () => void (await iterator.return?.())
  return { head: Buffer.concat(head), rest: remaining(iterator), close: closeIterator }
}

async function* remaining(iterator: AsyncIterator<Uint8Array>) {
  for (;;) {
    const next = await iterator.next()
    if (next.done === true) return
    for (const slice of slices(asBuffer(next.value))) yield slice
  }
}

/** Splits content into slices of `size` bytes, by default small enough to process without blocking the event loop. */
export function* slices(content: Buffer, size = SLICE_BYTES) {
  for (let offset = 0; offset < content.length; offset += size) yield content.subarray(offset, offset + size)
}

function asBuffer(bytes: Uint8Array) {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A chunk that was taken from an iterator, and the rest, which is closed with it. */
export async function* prepend(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield first
    yield* { [Symbol.asyncIterator]: () => rest }
  } finally {
    await rest.return?.()
  }
}

/** Counts and hashes content; throws `BlobTooLargeError`. */
export class Tally {
  #key: string
  #maxBytes: number
  #size = 0
  #md5: Hash | string

  constructor(key: string, maxBytes: number, md5: string | undefined) {
    this.#key = key
    this.#maxBytes = maxBytes
    this.#md5 = md5 ?? createHash('md5')
  }

  add(content: Buffer) {
    this.#size += content.length
    if (this.#size > this.#maxBytes) throw new BlobTooLargeError(this.#key, this.#maxBytes)
    if (typeof this.#md5 !== 'string') this.#md5.update(content)
  }

  async *count(head: Buffer, rest: Iterable<Buffer> | AsyncIterable<Buffer>) {
    this.add(head)
    if (head.length > 0) yield head
    let bytes = 0
    for await (const chunk of rest) {
      this.add(chunk)
      yield chunk
      bytes += chunk.length
      if (bytes < BYTES_PER_TURN) continue
      // Hashing large content in memory would otherwise block the event loop.
      await nextTurn()
      bytes = 0
    }
  }

  /** To be called once, at the end. */
  info(storedSize: number): BlobInfo {
    const md5 = typeof this.#md5 === 'string' ? this.#md5 : this.#md5.digest('hex')
    return { size: this.#size, md5, storedSize }
  }
}
