/** The most that is allocated at first (bytes), whatever was declared: a client may declare much and send nothing. */
const FIRST_BYTES = 512 * 1024
const UNDECLARED_BYTES = 64 * 1024

/**
 * Content that arrives in pieces, in one buffer. To join the pieces at the end would take twice the memory, and fresh memory
 * costs more than copying.
 */
export class GrowingBuffer {
  size = 0
  #buffer: Buffer = Buffer.alloc(0)
  #declaredBytes: number | undefined
  #isShared: boolean

  /** `declaredBytes` as the sender says, which need not be true. In shared memory workers read it where it is. */
  constructor(declaredBytes: number | undefined, { isShared = false } = {}) {
    this.#declaredBytes = declaredBytes
    this.#isShared = isShared
  }

  add(chunk: Buffer) {
    const needed = this.size + chunk.length
    if (needed > this.#buffer.length) this.#grow(needed)
    chunk.copy(this.#buffer, this.size)
    this.size = needed
  }

  /** The bytes received so far. They do not change when more arrive. */
  whole() {
    return this.from(0)
  }

  /** As `whole`, from byte `start` on. */
  from(start: number) {
    return this.#buffer.subarray(start, this.size)
  }

  #grow(needed: number) {
    const declared = this.#declaredBytes ?? UNDECLARED_BYTES
    const wanted = this.size === 0 ? Math.min(declared, FIRST_BYTES) : declared
    const length = needed <= wanted ? wanted : needed * 2
    const grown = this.#isShared ? Buffer.from(new SharedArrayBuffer(length)) : Buffer.allocUnsafeSlow(length)
    this.#buffer.copy(grown, 0, 0, this.size)
    this.#buffer = grown
  }
}
