import { Readable } from 'node:stream'
import { slices } from '../../../blobs/content.ts'

/** How many bytes of content a process holds for downloads at once; beyond it, each is read as a stream of its own. */
const TOTAL_BYTES = 32 * 1024 * 1024
/** Larger content (bytes) is a stream always. */
const LARGEST_BYTES = 16 * 1024 * 1024
/** A multiple of what a socket takes at a time. */
const PIECE_BYTES = 512 * 1024

/** Content in memory for as long as somebody is being sent it. */
type Held = { content: Promise<Buffer>; size: number; readers: number }

const held = new Map<string, Held>()
let heldBytes = 0

/**
 * A content that never changes, for one more reader. Readers at the same time share it: a state that a dozen runs read at once
 * is decrypted and decompressed once. Undefined where there is no room for it. The stream must be consumed or destroyed.
 */
export async function openShared(
  key: string,
  size: number,
  read: () => Promise<Buffer>,
): Promise<Readable | undefined> {
  const entry = held.get(key) ?? hold(key, size, read)
  if (!entry) return undefined
  entry.readers += 1
  try {
    const stream = Readable.from(slices(await entry.content, PIECE_BYTES), {
      objectMode: false,
      highWaterMark: PIECE_BYTES,
    })
    return stream.once('close', () => leave(key, entry))
  } catch (error) {
    leave(key, entry)
    throw error
  }
}

function hold(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
  if (size > LARGEST_BYTES || heldBytes + size > TOTAL_BYTES) return undefined
  const entry = { content: read(), size, readers: 0 }
  held.set(key, entry)
  heldBytes += size
  return entry
}

function leave(key: string, entry: Held) {
  entry.readers -= 1
  if (entry.readers > 0) return
  held.delete(key)
  heldBytes -= entry.size
}
