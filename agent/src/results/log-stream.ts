import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { RequestRejectedError } from '../server/connection.ts'

/** The bytes 0x02 and 0x03 that frame a log for the CLI. */
const MARKS = [0x02, 0x03]
const FLUSH_MS = 100
const FLUSH_BYTES = 64 * 1024
const LARGEST_CHUNK = 1024 * 1024
/** Refused chunks of at most this size, in bytes, are not split. */
const SMALLEST_CHUNK = 4 * 1024
/** Retry time limit of a refused chunk, in ms: a proxy may refuse it only while the server restarts. */
const RETRY_TIMEOUT_MS = 10_000
/** Delay before a refused chunk is sent again, in ms. */
const RETRY_DELAY_MS = 500

export type LogStream = Disposable & {
  write: (output: Buffer | string) => void
  /**
   * Ends the log, and returns the rest that the server does not have, to send with another request; undefined where that is more than
   * `limit` bytes, or where some of it was refused: `close` sends it.
   */
  rest: (limit: number) => Promise<{ offset: number; bytes: Uint8Array } | undefined>
  /** Sends the rest. Resolves when the server has everything it accepts, with a note if it does not even accept the note of a gap. */
  close: () => Promise<string | undefined>
}

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
 * Chunks are sent one after the other, by offset, so that a repeated one is harmless: every 100 ms, or 64 KB if
 * that is sooner. The log of a short phase is sent with its outcome only. A slow or unreachable server does not block the engine.
 *
 * A refused chunk is split into smaller ones. What is still refused is left out, with a note in the log: a proxy that
 * blocks some bytes must not fail the run.
 */
export function openLogStream({
  append,
  file,
  limitBytes,
  sent = 0,
  retryTimeoutMs = RETRY_TIMEOUT_MS,
}: LogOptions): LogStream {
  let descriptor: number | undefined = openSync(file, 'a+', 0o600)
  let taken = 0
  /** Bytes in the file, and bytes of it that the server has. */
  let stored = fstatSync(descriptor).size
  // After a power failure the file may lack bytes that the server has.
  let offset = Math.min(sent, stored)
  let largest = LARGEST_CHUNK
  /** Time of the first refusal of the small chunk at the offset. */
  let refusedSince: number | undefined
  let missing: string | undefined
  let lastSentAt = performance.now()
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let failure: { error: unknown } | undefined
  let closed = false
  /** The rest is sent with another request, unless that is refused. */
  let held = false
  /** No more output is accepted: the limit is reached, or the disk is full. */
  let ended = false

  function schedule() {
    if (held || sending !== undefined || failure !== undefined || descriptor === undefined || stored === offset) return
    const waitMs = closed || stored - offset >= FLUSH_BYTES ? 0 : lastSentAt + FLUSH_MS - performance.now()
    if (waitMs <= 0) {
      clearTimeout(timer)
      timer = undefined
      sending = sendNext(descriptor).finally(() => {
        sending = undefined
        schedule()
      })
    } else timer ??= setTimeout(onTimer, waitMs)
  }

  function onTimer() {
    timer = undefined
    schedule()
  }

  async function sendNext(from: number) {
    lastSentAt = performance.now()
    try {
      const space = Buffer.allocUnsafe(Math.min(largest, stored - offset))
      const chunk = withoutMarks(space.subarray(0, readSync(from, space, 0, space.length, offset)))
      const refusal = await tryAppend(chunk)
      if (refusal === undefined) largest = Math.min(largest * 2, LARGEST_CHUNK)
      else await yieldTo(refusal, chunk.length)
    } catch (error) {
      failure = { error }
    }
  }

  async function tryAppend(chunk: Buffer): Promise<RequestRejectedError | undefined> {
    try {
      const size = await append(offset, chunk)
      if (size <= offset) throw new Error(`the server has ${size} bytes of the log, and took none of those behind them`)
      offset = Math.min(size, stored)
      refusedSince = undefined
      return undefined
    } catch (error) {
      if (error instanceof RequestRejectedError) return error
      throw error
    }
  }

  async function yieldTo({ status }: RequestRejectedError, length: number) {
    // It has less than before: a failover of its database lost the last writes.
    if (status === OUT_OF_RANGE) offset = await append(0, Buffer.alloc(0))
    else if (length > SMALLEST_CHUNK) largest = Math.floor(length / 2)
    else {
      refusedSince ??= performance.now()
      if (performance.now() - refusedSince < retryTimeoutMs) return delay(Math.min(RETRY_DELAY_MS, retryTimeoutMs))
      await leaveOut(status, length)
    }
  }

  /** Replaces bytes by a note of the same length. If that is refused too, the rest of the log is not sent. */
  async function leaveOut(status: number, length: number) {
    const note = Buffer.alloc(length, ' ')
    note.write(`\nA part of the log is missing here: the server, or a proxy before it, answers ${status} to it.\n`)
    if ((await tryAppend(note)) === undefined) return
    missing = `The log is not complete: the server, or a proxy before it, answers ${status} to what is missing.`
    ended = true
    offset = stored
  }

  function take(bytes: Buffer) {
    if (descriptor === undefined) return
    try {
      for (let at = 0; at < bytes.length;) {
        const written = writeSync(descriptor, bytes, at)
        at += written
        stored += written
      }
    } catch {
      // The disk is full. An apply must not fail for its log.
      ended = true
    }
    schedule()
  }

  const isSending = () => sending !== undefined

  return {
    write(output) {
      if (closed || ended || failure !== undefined) return
      const bytes = Buffer.from(output)
      const room = limitBytes - taken
      taken += bytes.length
      if (bytes.length > room) {
        ended = true
        take(bytes.subarray(0, room))
        take(Buffer.from(`\nThe log is cut off here: it is longer than ${limitBytes} bytes. The run goes on.\n`))
      } else take(bytes)
    },
    async rest(limit) {
      closed = true
      held = true
      clearTimeout(timer)
      timer = undefined
      while (isSending()) await sending
      if (descriptor === undefined || failure !== undefined || missing !== undefined || refusedSince !== undefined)
        return undefined
      if (stored - offset > limit) return undefined
      const space = Buffer.allocUnsafe(stored - offset)
      return { offset, bytes: withoutMarks(space.subarray(0, readSync(descriptor, space, 0, space.length, offset))) }
    },
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
      clearTimeout(timer)
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

/** Status for a chunk whose offset is beyond the end of the server's log. */
const OUT_OF_RANGE = 416

/** Replaces framing bytes in the output, which would end the log for readers, by spaces. */
function withoutMarks(bytes: Buffer): Buffer {
  for (const mark of MARKS) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) bytes[at] = 0x20
  }
  return bytes
}
