import { hash, randomUUID } from 'node:crypto'

/** What stands for raw JSON while a document is serialised; nobody outside can guess it, so no text of a user holds it. */
const MARK = `raw-json-${randomUUID()}`
let collecting: RawJson[] | undefined

/**
 * A part of a document that is JSON already, as UTF-8. It is copied into the answer as it is: a large part that is kept as
 * text costs neither a parse nor a serialisation.
 */
export class RawJson {
  bytes: Buffer
  #digest: string | undefined

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Of the bytes; taken once, for a part that is shown again and again. */
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

/** A document as the bytes of its JSON, and how to get a short text that is another one for other bytes. */
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
    const pieces = texts.flatMap((text, index) => [Buffer.from(text), raws[index]?.bytes ?? EMPTY])
    // The mark is another one in each process, and replicas give one document one tag.
    const digest = () => digestOf([...texts, ...raws.map((raw) => raw.digest)].join('\0'))
    return { content: Buffer.concat(pieces), digest }
  } finally {
    collecting = undefined
  }
}

const EMPTY = Buffer.alloc(0)

/** Short, and another one for other bytes. */
export function digestOf(content: Buffer | string) {
  return hash('sha1', content, 'base64url')
}
