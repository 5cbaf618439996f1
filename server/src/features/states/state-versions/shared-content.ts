import { Readable } from 'node:stream'
import { slices } from '../../../blobs/content.ts'

/** How many bytes of content a process holds for downloads at once. */
const TOTAL_BYTES = 24 * 1024 * 1024
/** Larger content (bytes) is a stream always. */
const LARGEST_BYTES = 16 * 1024 * 1024
/** A multiple of what a socket takes at a time. */
const CHUNK_BYTES = 512 * 1024

/** Content in memory for as long as somebody is being sent it. */
type Held = { content: Promise<Buffer>; size: number; readers: number }

/**
 * When no room has become free for this long (ms), clients on slow lines hold it: so many of those who wait read streams of their own then.
 */
const STALLED_MS = 250
const LET_GO = 8

const held = new Map<string, Held>()
let heldBytes = 0

/** Readers that wait for room, in the order in which they came. */
const waiting: { enter: () => Held | undefined; resolve: (entry: Held | undefined) => void }[] = []
let stalled: NodeJS.Timeout | undefined

/**
 * A content that never changes, for one more reader. Readers at the same time share it: a state that a dozen runs read at once
 * is decrypted and decompressed once. Where there is no room for it, the reader waits: streams of their own would take more memory, and
 * no less time. Undefined where room does not become free. The stream must be consumed or destroyed.
 */
export async function openShared(
  key: string,
  size: number,
  read: () => Promise<Buffer>,
): Promise<Readable | undefined> {
  if (size > LARGEST_BYTES) return undefined
  const enter = () => entered(key, size, read)
  const entry = (waiting.length === 0 || held.has(key) ? enter() : undefined) ?? (await turn(enter))
  if (!entry) return undefined
  try {
    const stream = Readable.from(slices(await entry.content, CHUNK_BYTES), {
      objectMode: false,
      highWaterMark: CHUNK_BYTES,
    })
    return stream.once('close', () => leave(key, entry))
  } catch (error) {
    leave(key, entry)
    throw error
  }
}

/** The content, counted as read by one more; undefined where there is no room for it. */
function entered(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
  const entry = held.get(key) ?? hold(key, size, read)
  if (entry) entry.readers += 1
  return entry
}

function hold(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
  if (heldBytes + size > TOTAL_BYTES) return undefined
  const entry = { content: read(), size, readers: 0 }
  held.set(key, entry)
  heldBytes += size
  return entry
}

async function turn(enter: () => Held | undefined) {
  return new Promise<Held | undefined>((resolve) => {
    waiting.push({ enter, resolve })
    if (waiting.length === 1) awaitStall()
  })
}

function leave(key: string, entry: Held) {
  entry.readers -= 1
  if (entry.readers > 0) return
  held.delete(key)
  heldBytes -= entry.size
  admit()
}

function admit() {
  for (let next = waiting[0]; next; next = waiting[0]) {
    const entry = next.enter()
    if (!entry) break
    waiting.shift()
    next.resolve(entry)
  }
  awaitStall()
}

function awaitStall() {
  clearTimeout(stalled)
  stalled = waiting.length > 0 ? setTimeout(letGo, STALLED_MS) : undefined
}

function letGo() {
  for (const { resolve } of waiting.splice(0, LET_GO)) resolve(undefined)
  awaitStall()
}
