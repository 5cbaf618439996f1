import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * Frees the memory of bytes that nobody reads any more, unless it is shared with others. V8 counts what the collector has not come to
 * yet, and would collect all of its heap every few MB.
 */
export function free(bytes: Buffer) {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0)
}

/** As `free`, of a piece of a body; what tests inject is theirs. */
export function freeChunk(body: Readable, chunk: Buffer) {
  if (body instanceof IncomingMessage) free(chunk)
}
