/** Pieces of content in one body: a header as a line of JSON, and behind it the pieces, whose sizes the header tells. */
export function packParcel(header: unknown, pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const line = new TextEncoder().encode(`${JSON.stringify(header)}\n`)
  const parcel = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, line.length))
  let at = 0
  for (const piece of [line, ...pieces]) {
    parcel.set(piece, at)
    at += piece.length
  }
  return parcel
}

const LINE_FEED = 0x0a

/** The header of a parcel, unchecked, and what follows it; undefined when there is no header. */
export function openParcel(parcel: Uint8Array): { header: unknown; content: Uint8Array } | undefined {
  const end = parcel.indexOf(LINE_FEED)
  if (end === -1) return undefined
  try {
    return { header: JSON.parse(new TextDecoder().decode(parcel.subarray(0, end))), content: parcel.subarray(end + 1) }
  } catch {
    return undefined
  }
}
