/** A row shows at most this many bytes: a longer line is cut into several, since a browser can't draw megabytes in one. */
export const ROW_BYTES = 2000

const NEWLINE = 10

/** Where the rows of a text begin, in bytes, and the number of the line that each belongs to. */
export type LineIndex = { rows: number; starts: Uint32Array; numbers: Uint32Array; length: number }

/** Finds the lines of a text in UTF-8 that arrives in parts. */
export function lineIndexer() {
  let starts = new Uint32Array(1024)
  let numbers = new Uint32Array(1024)
  let rows = 1
  let line = 1
  numbers[0] = 1

  function begin(at: number) {
    if (rows === starts.length) {
      starts = grown(starts)
      numbers = grown(numbers)
    }
    starts[rows] = at
    numbers[rows] = line
    rows += 1
  }

  /** Cuts what is longer than a row, up to `end`. No character is cut in two. */
  function cut(bytes: Uint8Array, end: number) {
    for (let start = starts[rows - 1] ?? 0; end - start > ROW_BYTES;) {
      let at = start + ROW_BYTES
      while (at > start + 1 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1
      begin(at)
      start = at
    }
  }

  return {
    /** Takes the bytes from `from` to `to`; those before are in `bytes` too. */
    add(bytes: Uint8Array, from: number, to: number) {
      for (let at = from; at < to;) {
        const found = bytes.indexOf(NEWLINE, at)
        const end = found === -1 || found >= to ? to : found
        cut(bytes, end)
        if (end === to) return
        line += 1
        begin(end + 1)
        at = end + 1
      }
    },
    /** The index of the rows that are complete; the last one may go on. */
    soFar(): LineIndex {
      return upTo(rows - 1, starts[rows - 1] ?? 0)
    },
    /** The index of all that was added. A newline at the end begins no row. */
    finish(length: number): LineIndex {
      const isEmptyLast = rows > 1 && starts[rows - 1] === length
      return upTo(isEmptyLast ? rows - 1 : rows, length)
    },
  }

  function upTo(count: number, length: number): LineIndex {
    return { rows: count, starts: starts.subarray(0, count), numbers: numbers.subarray(0, count), length }
  }
}

function grown(array: Uint32Array) {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}

const decoder = new TextDecoder()

/** The texts of the rows from `from` up to `to`. */
export function rowTexts(bytes: Uint8Array, { starts, rows, length }: LineIndex, from: number, to: number) {
  const texts: string[] = []
  for (let row = from; row < Math.min(to, rows); row += 1) {
    const text = decoder.decode(bytes.subarray(starts[row], starts[row + 1] ?? length))
    texts.push(text.replace(/\r?\n$/, ''))
  }
  return texts
}

/** Capital letters of ASCII become small ones. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))

/** The rows in which `query` begins, in their order; small and capital letters are the same. */
export function findRows(bytes: Uint8Array, index: LineIndex, query: string): Uint32Array {
  const needle = new TextEncoder().encode(query).map((byte) => FOLDED[byte] ?? byte)
  const found: number[] = []
  if (needle.length === 0) return new Uint32Array()
  const [first = 0] = needle
  const last = index.length - needle.length
  let row = 0
  for (let at = 0; at <= last; at += 1) {
    if (FOLDED[bytes[at] ?? 0] !== first || !isAt(bytes, at, needle)) continue
    while (row + 1 < index.rows && (index.starts[row + 1] ?? 0) <= at) row += 1
    found.push(row)
    at = (index.starts[row + 1] ?? index.length) - 1
  }
  return Uint32Array.from(found)
}

function isAt(bytes: Uint8Array, at: number, needle: Uint8Array) {
  for (let i = 1; i < needle.length; i += 1) if (FOLDED[bytes[at + i] ?? 0] !== needle[i]) return false
  return true
}
