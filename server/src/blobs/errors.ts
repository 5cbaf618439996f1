/** The key holds nothing: never written, deleted, or not acknowledged before a crash. */
export class BlobNotFoundError extends Error {
  override name = 'BlobNotFoundError'
  readonly key: string
  constructor(key: string) {
    super(`there is no blob ${key}`)
    this.key = key
  }
}

/** Blobs are write-once; the content that the key already holds is untouched. */
export class BlobExistsError extends Error {
  override name = 'BlobExistsError'
  readonly key: string
  constructor(key: string) {
    super(`blob ${key} exists already`)
    this.key = key
  }
}

/** The stored bytes are not what was put under this key with this secret. */
export class BlobCorruptError extends Error {
  override name = 'BlobCorruptError'
  readonly key: string
  constructor(key: string, problem: string, options?: ErrorOptions) {
    super(`blob ${key} ${problem}`, options)
    this.key = key
  }
}

/** The content is longer than the `maxBytes` of its put; nothing of it was kept. */
export class BlobTooLargeError extends Error {
  override name = 'BlobTooLargeError'
  readonly maxBytes: number
  constructor(key: string, maxBytes: number) {
    super(`blob ${key} is larger than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}
