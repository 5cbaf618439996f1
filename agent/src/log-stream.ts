import { closeSync, openSync, readSync, writeSync } from 'node:fs'

/** The bytes that the server puts around a log, 0x02 and 0x03: the command line takes them for its beginning and end. */
const MARKS = [0x02, 0x03]
const FLUSH_MS = 100
const FLUSH_BYTES = 64 * 1024
const LARGEST_CHUNK = 1024 * 1024

export type LogStream = Disposable & {
  write: (output: Buffer | string) => void
  /** Sends what is left; resolves when the server has all of it. */
  close: () => Promise<void>
}

type LogOptions = {
  /** Stores bytes at an offset and answers the size stored; rejects when that cannot succeed any more. */
  append: (offset: number, bytes: Buffer) => Promise<number>
  /** Keeps all of the log until the job is over: the server may be away for longer than memory lasts, or the agent may die. */
  file: string
  /** Output beyond this is dropped, and a line says so, in bytes. */
  limitBytes: number
}

/**
 * The log of one phase as it goes to the server: text alone, which the server frames for its readers.
 *
 * Chunks go out one after the other, by offset, so that a repeated one does no harm: the first at once, then what has
 * gathered every 100 ms, or 64 KB if that is sooner. A server that is behind, or away, does not hold the engine back.
 */
export function openLogStream({ append, file, limitBytes }: LogOptions): LogStream {
  let descriptor: number | undefined = openSync(file, 'a+', 0o600)
  let taken = 0
  /** What the file has, and what the server has of it. */
  let stored = 0
  let offset = 0
  let lastSentAt = -FLUSH_MS
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let failure: { error: unknown } | undefined
  let closed = false
  /** Nothing more is taken: the limit is reached, or the disk is full. */
  let ended = false

  function schedule() {
    if (sending !== undefined || failure !== undefined || descriptor === undefined || stored === offset) return
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
      const space = Buffer.allocUnsafe(Math.min(LARGEST_CHUNK, stored - offset))
      const chunk = space.subarray(0, readSync(from, space, 0, space.length, offset))
      const size = await append(offset, chunk)
      if (size !== offset + chunk.length)
        throw new Error(`the server has ${size} bytes of the log, not those it was sent`)
      offset = size
    } catch (error) {
      failure = { error }
    }
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
      const bytes = withoutMarks(Buffer.from(output))
      const room = limitBytes - taken
      taken += bytes.length
      if (bytes.length > room) {
        ended = true
        take(bytes.subarray(0, room))
        take(Buffer.from(`\nThe log is cut off here: it is longer than ${limitBytes} bytes. The run goes on.\n`))
      } else take(bytes)
    },
    async close() {
      if (!closed) {
        closed = true
        schedule()
      }
      while (isSending()) await sending
      if (failure !== undefined) throw failure.error
    },
    [Symbol.dispose]() {
      closed = true
      clearTimeout(timer)
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

/** The engine's own marks would end the log for its reader: they become spaces. */
export function withoutMarks(bytes: Buffer): Buffer {
  for (const mark of MARKS) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) bytes[at] = 0x20
  }
  return bytes
}
