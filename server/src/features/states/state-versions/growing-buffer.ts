/** How much is allocated at first (bytes), whatever was declared: memory is for those who really send something. */
const FIRST_BYTES = 512 * 1024
const UNDECLARED_BYTES = 64 * 1024

/**
 * Content that arrives in pieces, in one buffer: to keep the pieces and to join them at the end takes twice the memory, and
 * fresh memory costs more than to copy into it.
 */
export class Gathered {
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

  /** What came so far. It stays as it is when more comes. */
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
