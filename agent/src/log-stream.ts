/** The bytes that the server puts around a log, 0x02 and 0x03: the command line takes them for its beginning and end. */
const MARKS = [0x02, 0x03]
const FLUSH_MS = 100
const FLUSH_BYTES = 64 * 1024
const LARGEST_CHUNK = 1024 * 1024
/** What may wait unsent before the engine is held back, in bytes. */
const BACKLOG = 8 * 1024 * 1024

export type LogStream = {
  /** Takes output; a promise only when the server is behind, to be awaited before more is given. */
  write: (output: Buffer | string) => Promise<void> | void
  /** Sends what is left; resolves when the server has all of it. */
  close: () => Promise<void>
}

type LogOptions = {
  /** Stores bytes at an offset and answers the size stored; rejects when that cannot succeed any more. */
  append: (offset: number, bytes: Buffer) => Promise<number>
  /** Output beyond this is dropped, and a line says so, in bytes. */
  limitBytes: number
}

/**
 * The log of one phase as it goes to the server: text alone, which the server frames for its readers.
 *
 * Chunks go out one after the other, by offset, so that a repeated one does no harm: the first at once, then what has
 * gathered every 100 ms, or 64 KB if that is sooner.
 */
export function openLogStream({ append, limitBytes }: LogOptions): LogStream {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let taken = 0
  let offset = 0
  let lastSentAt = -FLUSH_MS
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let failure: { error: unknown } | undefined
  let closed = false
  let truncated = false

  function schedule() {
    if (sending !== undefined || failure !== undefined || pendingBytes === 0) return
    const waitMs = closed || pendingBytes >= FLUSH_BYTES ? 0 : lastSentAt + FLUSH_MS - performance.now()
    if (waitMs <= 0) {
      clearTimeout(timer)
      timer = undefined
      sending = sendNext().finally(() => {
        sending = undefined
        schedule()
      })
    } else timer ??= setTimeout(onTimer, waitMs)
  }

  function onTimer() {
    timer = undefined
    schedule()
  }

  async function sendNext() {
    const all = Buffer.concat(pending)
    const chunk = all.subarray(0, LARGEST_CHUNK)
    pending = all.length > chunk.length ? [all.subarray(chunk.length)] : []
    pendingBytes = all.length - chunk.length
    lastSentAt = performance.now()
    try {
      const size = await append(offset, chunk)
      if (size !== offset + chunk.length)
        throw new Error(`the server has ${size} bytes of the log, not those it was sent`)
      offset = size
    } catch (error) {
      failure = { error }
      pending = []
      pendingBytes = 0
    }
  }

  function take(bytes: Buffer) {
    pending.push(bytes)
    pendingBytes += bytes.length
    schedule()
  }

  function write(output: Buffer | string): Promise<void> | void {
    if (closed || truncated || failure !== undefined) return
    const bytes = withoutMarks(Buffer.from(output))
    const room = limitBytes - taken
    taken += bytes.length
    if (bytes.length > room) {
      truncated = true
      take(bytes.subarray(0, room))
      take(Buffer.from(`\nThe log is cut off here: it is longer than ${limitBytes} bytes. The run goes on.\n`))
    } else take(bytes)
    if (pendingBytes > BACKLOG) return drained()
  }

  const isSending = () => sending !== undefined
  const isBehind = () => isSending() && pendingBytes > BACKLOG

  async function drained() {
    while (isBehind()) await sending
  }

  return {
    write,
    async close() {
      if (!closed) {
        closed = true
        schedule()
      }
      while (isSending()) await sending
      if (failure !== undefined) throw failure.error
    },
  }
}

/** The engine's own marks would end the log for its reader: they become spaces. */
function withoutMarks(bytes: Buffer): Buffer {
  for (const mark of MARKS) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) bytes[at] = 0x20
  }
  return bytes
}
