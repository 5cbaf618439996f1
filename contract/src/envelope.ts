/** Pieces of content in one body: a header as a line of JSON, and behind it the pieces, whose sizes the header tells. */
export function packEnvelope(header: unknown, chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const line = new TextEncoder().encode(`${JSON.stringify(header)}\n`)
  const envelope = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, line.length))
  let at = 0
  for (const chunk of [line, ...chunks]) {
    envelope.set(chunk, at)
    at += chunk.length
  }
  return envelope
}

const LINE_FEED = 0x0a

/** The header of a parcel, unchecked, and what follows it; undefined when there is no header. */
export function openEnvelope(envelope: Uint8Array): { header: unknown; content: Uint8Array } | undefined {
  const end = envelope.indexOf(LINE_FEED)
  if (end === -1) return undefined
  try {
    return {
      header: JSON.parse(new TextDecoder().decode(envelope.subarray(0, end))),
      content: envelope.subarray(end + 1),
    }
  } catch {
    return undefined
  }
}
