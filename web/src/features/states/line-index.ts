/** Longer lines are split into several rows, since browsers cannot render megabytes in one. */
export const MAX_ROW_BYTES = 2000

const NEWLINE = 10

/** Byte offsets of the rows of a text, and the line number of each. */
export type LineIndex = { rows: number; starts: Uint32Array; numbers: Uint32Array; length: number }

/** Indexes the lines of a UTF-8 text that arrives in chunks. */
export function lineIndexer() {
  let starts = new Uint32Array(1024)
  let numbers = new Uint32Array(1024)
  let rows = 1
  let line = 1
  numbers[0] = 1

  function begin(at: number) {
    if (rows === starts.length) {
      starts = doubled(starts)
      numbers = doubled(numbers)
    }
    starts[rows] = at
    numbers[rows] = line
    rows += 1
  }

  /** Splits a line that exceeds a row, up to `end`, but never within a character. */
  function split(bytes: Uint8Array, end: number) {
    for (let start = starts[rows - 1] ?? 0; end - start > MAX_ROW_BYTES;) {
      let at = start + MAX_ROW_BYTES
      while (at > start + 1 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1
      begin(at)
      start = at
    }
  }

  return {
    /** Adds the bytes from `from` to `to`; `bytes` also contains all previous ones. */
    add(bytes: Uint8Array, from: number, to: number) {
      for (let at = from; at < to;) {
        const newline = bytes.indexOf(NEWLINE, at)
        const end = newline === -1 || newline >= to ? to : newline
        split(bytes, end)
        if (end === to) return
        line += 1
        begin(end + 1)
        at = end + 1
      }
    },
    snapshot(): LineIndex {
      return upTo(rows - 1, starts[rows - 1] ?? 0)
    },
    /** The index of all rows. A trailing newline does not begin a row. */
    finish(length: number): LineIndex {
      const isEmptyLast = rows > 1 && starts[rows - 1] === length
      return upTo(isEmptyLast ? rows - 1 : rows, length)
    },
  }

  function upTo(count: number, length: number): LineIndex {
    return { rows: count, starts: starts.subarray(0, count), numbers: numbers.subarray(0, count), length }
  }
}

function doubled(array: Uint32Array) {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}

const decoder = new TextDecoder()

export function rowTexts(bytes: Uint8Array, { starts, rows, length }: LineIndex, from: number, to: number) {
  const texts: string[] = []
  for (let row = from; row < Math.min(to, rows); row += 1) {
    const text = decoder.decode(bytes.subarray(starts[row], starts[row + 1] ?? length))
    texts.push(text.replace(/\r?\n$/, ''))
  }
  return texts
}

const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))

/** The rows in which a match of `query` begins; ignores the case of ASCII letters. */
export function findRows(bytes: Uint8Array, index: LineIndex, query: string): Uint32Array {
  const needle = new TextEncoder().encode(query).map((byte) => LOWER_CASE[byte] ?? byte)
  const matching: number[] = []
  if (needle.length === 0) return new Uint32Array()
  const [first = 0] = needle
  const last = index.length - needle.length
  let row = 0
  for (let at = 0; at <= last; at += 1) {
    if (LOWER_CASE[bytes[at] ?? 0] !== first || !isAt(bytes, at, needle)) continue
    while (row + 1 < index.rows && (index.starts[row + 1] ?? 0) <= at) row += 1
    matching.push(row)
    at = (index.starts[row + 1] ?? index.length) - 1
  }
  return Uint32Array.from(matching)
}

function isAt(bytes: Uint8Array, at: number, needle: Uint8Array) {
  for (let i = 1; i < needle.length; i += 1) if (LOWER_CASE[bytes[at + i] ?? 0] !== needle[i]) return false
  return true
}
