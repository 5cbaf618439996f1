const LINE_FEED = 0x0a

/** An envelope: a header as one line of JSON, followed by chunks of content whose sizes the header lists. */
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

/** The unvalidated header of an envelope and its content; undefined without a header. */
export function openEnvelope(envelope: Uint8Array): { header: unknown; content: Uint8Array } | undefined {
  const end = envelope.indexOf(LINE_FEED)
  if (end === -1) return undefined
  const header = new TextDecoder().decode(envelope.subarray(0, end))
  try {
    return { header: JSON.parse(header), content: envelope.subarray(end + 1) }
  } catch {
    return undefined
  }
}
