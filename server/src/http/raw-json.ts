import { randomUUID } from 'node:crypto'

/** What stands for raw JSON while a document is serialised; nobody outside can guess it, so no text of a user holds it. */
const MARK = `raw-json-${randomUUID()}`
let collecting: RawJson[] | undefined

/**
 * A part of a document that is JSON already, as UTF-8. It is copied into the answer as it is: a large part that is kept as
 * text costs neither a parse nor a serialisation.
 */
export class RawJson {
  bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  toJSON(): unknown {
    if (!collecting) return JSON.parse(this.bytes.toString())
    collecting.push(this)
    return MARK
  }
}

/** A document as the bytes of its JSON. */
export function serialise(document: unknown): Buffer {
  const raws: RawJson[] = []
  collecting = raws
  try {
    const texts = JSON.stringify(document).split(`"${MARK}"`)
    const pieces = texts.flatMap((text, index) => [Buffer.from(text), raws[index]?.bytes ?? EMPTY])
    return pieces.length === 2 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
  } finally {
    collecting = undefined
  }
}

const EMPTY = Buffer.alloc(0)
