import { hash, randomUUID } from 'node:crypto'

/** Replaces raw JSON while a document is serialised. Random, so that no text of a user contains it. */
const MARK = `raw-json-${randomUUID()}`
let collecting: RawJson[] | undefined

/** A part of a document that is already JSON, as UTF-8. It is copied into the response unchanged. */
export class RawJson {
  bytes: Buffer
  #digest: string | undefined

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

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
    const chunks = texts.flatMap((text, index) => [Buffer.from(text), raws[index]?.bytes ?? Buffer.alloc(0)])
    // The mark is left out of the digest, since it differs between processes and replicas must agree on the ETag.
    const digest = () => digestOf([...texts, ...raws.map((raw) => raw.digest)].join('\0'))
    return { content: Buffer.concat(chunks), digest }
  } finally {
    collecting = undefined
  }
}

export function digestOf(content: Buffer | string) {
  return hash('sha1', content, 'base64url')
}
