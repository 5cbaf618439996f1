import { hash, randomUUID } from 'node:crypto'

/** Replaces raw JSON while a document is serialised. It is random, so no text of a user contains it. */
const MARK = `raw-json-${randomUUID()}`
let collecting: RawJson[] | undefined

/**
 * A part of a document that is already JSON, as UTF-8. It is copied into the response unchanged, without parsing and
 * serialising it again.
 */
export class RawJson {
  bytes: Buffer
  #digest: string | undefined

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The digest of the bytes, computed once. */
  get digest() {
    this.#digest ??= digestOf(this.bytes)
    return this.#digest
  }

  toJSON(): unknown {
    if (!collecting) return JSON.parse(this.bytes.toString())
    collecting.push(this)
    return MARK
  }
}

/** Serialises a document, and returns a function for the digest of its content. */
export function serialise(document: unknown): { content: Buffer; digest: () => string } {
  const raws: RawJson[] = []
  collecting = raws
  try {
    const json = JSON.stringify(document)
    if (raws.length === 0) {
      const content = Buffer.from(json)
      return { content, digest: () => digestOf(content) }
    }
    const texts = json.split(`"${MARK}"`)
    const chunks = texts.flatMap((text, index) => [Buffer.from(text), raws[index]?.bytes ?? EMPTY])
    // The mark is left out of the digest, since it differs between processes and replicas must agree on the ETag.
    const digest = () => digestOf([...texts, ...raws.map((raw) => raw.digest)].join('\0'))
    return { content: Buffer.concat(chunks), digest }
  } finally {
    collecting = undefined
  }
}

const EMPTY = Buffer.alloc(0)

/** A short digest of the content. */
export function digestOf(content: Buffer | string) {
  return hash('sha1', content, 'base64url')
}
