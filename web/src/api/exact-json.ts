/** A number that JavaScript would round, kept as it was written. */
export type ExactNumber = { readonly rawJSON: string }

export function isExactNumber(value: unknown): value is ExactNumber {
  return value instanceof RawNumber
}

class RawNumber implements ExactNumber {
  readonly rawJSON: string
  constructor(text: string) {
    this.rawJSON = text
  }
  toJSON() {
    // Recent browsers write it as the number that it was, others as its rounded value.
    return 'rawJSON' in JSON
      ? (JSON as { rawJSON: (text: string) => unknown }).rawJSON(this.rawJSON)
      : Number(this.rawJSON)
  }
}

const LONG_NUMBER = /\d{16}/

/** Parses JSON; numbers that a double can't hold become `ExactNumber`, where the browser tells their text. */
export function parseExactly(text: string): unknown {
  // A reviver makes parsing several times slower, so only texts that may need it get one.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && LONG_NUMBER.test(source) && String(value) !== source
      ? new RawNumber(source)
      : value
  })
}
