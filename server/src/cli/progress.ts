import { formatBytes, type Watch } from '../backup/copy.ts'
import { codeOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'

const TERMINAL_MS = 500
const LOG_MS = 10_000

/** Runs `work` with progress on standard error, and aborts it on SIGINT and SIGTERM. `kept` says what remains of it then. */
export async function watched<T>(
  { verb, kept }: { verb: string; kept: string },
  work: (watch: Watch & { total: (bytes: number) => void }) => Promise<T>,
) {
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const { isTTY } = process.stderr
  const started = performance.now()
  let done = 0
  let total: number | undefined
  const print = () => {
    const rate = `${formatBytes(Math.round(done / ((performance.now() - started) / 1000)))}/s`
    const of = total === undefined ? '' : ` of ${formatBytes(Math.max(total, done))}`
    const line = `${verb} ${formatBytes(done)}${of}, ${rate}`
    process.stderr.write(isTTY ? `\r${line.padEnd(60)}` : `${line}\n`)
  }
  const timer = setInterval(print, isTTY ? TERMINAL_MS : LOG_MS)
  try {
    return await work({
      add: (bytes) => void (done += bytes),
      total: (bytes) => void (total = bytes),
      signal: stop.signal,
    })
  } catch (error) {
    if (stop.signal.aborted) throw new StartError(`interrupted; ${kept}`, { cause: error })
    if (codeOf(error) === 'ENOSPC') throw new StartError(`the disk is full; ${kept}`, { cause: error })
    throw error
  } finally {
    clearInterval(timer)
    if (isTTY) process.stderr.write(`\r${' '.repeat(60)}\r`)
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}
