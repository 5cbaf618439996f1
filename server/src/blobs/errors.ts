export class BlobNotFoundError extends Error {
  override name = 'BlobNotFoundError'
  constructor(key: string) {
    super(`blob ${key} does not exist`)
  }
}

/** Blobs are write-once: the stored content is unchanged. */
export class BlobExistsError extends Error {
  override name = 'BlobExistsError'
  constructor(key: string) {
    super(`blob ${key} already exists`)
  }
}

/** The stored bytes are damaged, renamed, or sealed with another secret. */
export class BlobCorruptError extends Error {
  override name = 'BlobCorruptError'
  constructor(key: string, problem: string, options?: ErrorOptions) {
    super(`blob ${key} ${problem}`, options)
  }
}

/** The object store does not respond, or is overloaded, also after several attempts. */
export class BlobStoreUnavailableError extends Error {
  override name = 'BlobStoreUnavailableError'
}

export class BlobTooLargeError extends Error {
  override name = 'BlobTooLargeError'
  readonly maxBytes: number
  constructor(key: string, maxBytes: number) {
    super(`blob ${key} is larger than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}
