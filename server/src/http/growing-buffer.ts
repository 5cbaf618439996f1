/** The most that is allocated at first (bytes), whatever was declared: a client may declare much and send nothing. */
const FIRST_BYTES = 512 * 1024
const UNDECLARED_BYTES = 64 * 1024

/**
 * Content that arrives in pieces, in one buffer. To join the pieces at the end would take twice the memory, and fresh memory
 * costs more than copying.
 */
export class GrowingBuffer {
  size = 0
  #buffer = Buffer.alloc(0)
  #declaredBytes: number | undefined

  /** `declaredBytes` as the sender says, which need not be true. */
  constructor(declaredBytes: number | undefined) {
    this.#declaredBytes = declaredBytes
  }

  add(piece: Buffer) {
    const needed = this.size + piece.length
    if (needed > this.#buffer.length) this.#grow(needed)
    piece.copy(this.#buffer, this.size)
    this.size = needed
  }

  /** What has arrived so far. The returned bytes do not change when more arrives. */
  whole() {
    return this.#buffer.subarray(0, this.size)
  }

  #grow(needed: number) {
    const declared = this.#declaredBytes ?? UNDECLARED_BYTES
    const wanted = this.size === 0 ? Math.min(declared, FIRST_BYTES) : declared
    const grown = Buffer.allocUnsafeSlow(needed <= wanted ? wanted : needed * 2)
    this.#buffer.copy(grown, 0, 0, this.size)
    this.#buffer = grown
  }
}
