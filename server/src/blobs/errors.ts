/** No blob has this key: it was never written, was deleted, or a crash came before it was acknowledged. */
export class BlobNotFoundError extends Error {
  override name = 'BlobNotFoundError'
  readonly key: string
  constructor(key: string) {
    super(`there is no blob ${key}`)
    this.key = key
  }
}

/** Blobs are write-once. The stored content of the key is unchanged. */
export class BlobExistsError extends Error {
  override name = 'BlobExistsError'
  readonly key: string
  constructor(key: string) {
    super(`blob ${key} exists already`)
    this.key = key
  }
}

/** The stored bytes are damaged, were moved from another key, or were sealed with another secret. */
export class BlobCorruptError extends Error {
  override name = 'BlobCorruptError'
  readonly key: string
  constructor(key: string, problem: string, options?: ErrorOptions) {
    super(`blob ${key} ${problem}`, options)
    this.key = key
  }
}

/** The content is longer than `maxBytes`; nothing was stored. */
export class BlobTooLargeError extends Error {
  override name = 'BlobTooLargeError'
  readonly maxBytes: number
  constructor(key: string, maxBytes: number) {
    super(`blob ${key} is larger than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}
