import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { RequestRejectedError } from '../server/connection.ts'

/** The bytes 0x02 and 0x03 that frame a log for the CLI. */
const MARKS = [0x02, 0x03]
const FLUSH_MS = 100
const FLUSH_BYTES = 64 * 1024
const MAX_CHUNK_BYTES = 1024 * 1024
/** Rejected chunks up to this size, in bytes, are not split. */
const MIN_CHUNK_BYTES = 4 * 1024
/** Retry time limit of a rejected chunk, in ms: a proxy may reject it only while the server restarts. */
const RETRY_TIMEOUT_MS = 10_000
const RETRY_DELAY_MS = 500
/** Status for a chunk whose offset is beyond the end of the server's log. */
const OUT_OF_RANGE = 416

export type LogStream = ReturnType<typeof openLogStream>

type LogOptions = {
  /** Stores bytes at an offset and resolves with the stored size; rejects when that can no longer succeed. */
  append: (offset: number, bytes: Buffer) => Promise<number>
  /** File of the complete log until the job ends: an outage may outlast the memory, and the agent may die. */
  file: string
  /** Maximum size of the output, in bytes; a line marks the truncation. */
  limitBytes: number
  /** Bytes of an existing file that the server has. */
  sent?: number
  retryTimeoutMs?: number
}

/**
 * The log of one phase as sent to the server: plain text, which the server frames for its readers.
 *
 * Chunks are sent sequentially with their offset, so that repeated ones are harmless: every 100 ms, or 64 KB if that is sooner. The log of a
 * short phase is sent with its outcome only. A slow or unreachable server does not block the engine.
 *
 * A rejected chunk is split. Chunks that are still rejected are replaced by a note: a proxy that blocks some bytes must not fail the run.
 */
export function openLogStream(options: LogOptions) {
  const { append, file, limitBytes, sent = 0, retryTimeoutMs = RETRY_TIMEOUT_MS } = options
  let descriptor: number | undefined = openSync(file, 'a+', 0o600)
  let written = 0
  /** Bytes in the file, and bytes of it that the server has. */
  let stored = fstatSync(descriptor).size
  // After a power failure the file may lack bytes that the server has.
  let offset = Math.min(sent, stored)
  let maxChunkBytes = MAX_CHUNK_BYTES
  /** Time of the first rejection of the small chunk at the offset. */
  let rejectedSince: number | undefined
  let missing: string | undefined
  let lastSentAt = performance.now()
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let failure: { error: unknown } | undefined
  let closed = false
  /** The rest is sent with another request, unless that is rejected. */
  let held = false
  /** No more output is accepted: the limit is reached, or the disk is full. */
  let ended = false

  function schedule() {
    if (held || sending !== undefined || failure !== undefined || descriptor === undefined || stored === offset) return
    const waitMs = closed || stored - offset >= FLUSH_BYTES ? 0 : lastSentAt + FLUSH_MS - performance.now()
    if (waitMs > 0) {
      timer ??= setTimeout(() => {
        timer = undefined
        schedule()
      }, waitMs)
      return
    }
    stopTimer()
    sending = sendNext(descriptor).finally(() => {
      sending = undefined
      schedule()
    })
  }

  function stopTimer() {
    clearTimeout(timer)
    timer = undefined
  }

  async function sendNext(from: number) {
    lastSentAt = performance.now()
    try {
      const chunk = read(from, Math.min(maxChunkBytes, stored - offset))
      const rejection = await tryAppend(chunk)
      if (rejection === undefined) maxChunkBytes = Math.min(maxChunkBytes * 2, MAX_CHUNK_BYTES)
      else await handleRejection(rejection.status, chunk.length)
    } catch (error) {
      failure = { error }
    }
  }

  function read(from: number, size: number) {
    const space = Buffer.allocUnsafe(size)
    return withoutMarks(space.subarray(0, readSync(from, space, 0, size, offset)))
  }

  async function tryAppend(chunk: Buffer): Promise<RequestRejectedError | undefined> {
    try {
      const size = await append(offset, chunk)
      if (size <= offset) throw new Error(`the server has ${size} bytes of the log, and accepted none after them`)
      offset = Math.min(size, stored)
      rejectedSince = undefined
      return undefined
    } catch (error) {
      if (error instanceof RequestRejectedError) return error
      throw error
    }
  }

  async function handleRejection(status: number, length: number) {
    // The server has lost bytes, in a failover of its database.
    if (status === OUT_OF_RANGE) offset = await append(0, Buffer.alloc(0))
    else if (length > MIN_CHUNK_BYTES) maxChunkBytes = Math.floor(length / 2)
    else {
      rejectedSince ??= performance.now()
      if (performance.now() - rejectedSince < retryTimeoutMs) return delay(Math.min(RETRY_DELAY_MS, retryTimeoutMs))
      await skip(status, length)
    }
  }

  /** Replaces bytes by a note of the same length. If that is rejected too, the rest of the log is not sent. */
  async function skip(status: number, length: number) {
    const note = Buffer.alloc(length, ' ')
    note.write(
      `\nPart of the log is missing here: the server, or a proxy in front of it, rejected it with status ${status}.\n`,
    )
    if ((await tryAppend(note)) === undefined) return
    missing = `The log is incomplete: the server, or a proxy in front of it, rejected the rest with status ${status}.`
    ended = true
    offset = stored
  }

  function store(bytes: Buffer) {
    if (descriptor === undefined) return
    try {
      for (let at = 0; at < bytes.length;) {
        const count = writeSync(descriptor, bytes, at)
        at += count
        stored += count
      }
    } catch {
      // The disk is full. An apply must not fail for its log.
      ended = true
    }
    schedule()
  }

  const isSending = () => sending !== undefined
  const limit = {
    bytes: limitBytes,
    notice: `\nThe log is cut off here: it is longer than ${limitBytes} bytes. The run continues.\n`,
  }

  return {
    limit,
    write(output: Buffer | string) {
      if (closed || ended || failure !== undefined) return
      const bytes = Buffer.from(output)
      const room = limitBytes - written
      written += bytes.length
      if (bytes.length <= room) return store(bytes)
      ended = true
      store(bytes.subarray(0, room))
      store(Buffer.from(limit.notice))
    },
    /** Ends the log; returns the bytes to send with another request, or undefined if they exceed `limit` or were rejected: use `close`. */
    async rest(limit: number) {
      closed = true
      held = true
      stopTimer()
      while (isSending()) await sending
      if (descriptor === undefined || failure !== undefined || missing !== undefined || rejectedSince !== undefined)
        return undefined
      return stored - offset > limit ? undefined : { offset, bytes: read(descriptor, stored - offset) }
    },
    /** Sends the rest. Resolves when the server has everything it accepts, with a message if it rejects even the note about a gap. */
    async close() {
      closed = true
      held = false
      schedule()
      while (isSending()) await sending
      if (failure !== undefined) throw failure.error
      return missing
    },
    [Symbol.dispose]() {
      closed = true
      stopTimer()
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

/** Replaces framing bytes in the output, which would end the log for readers, by spaces. */
function withoutMarks(bytes: Buffer): Buffer {
  for (const mark of MARKS) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) bytes[at] = 0x20
  }
  return bytes
}
