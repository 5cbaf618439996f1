import type { Config } from '../config.ts'
import { serve } from '../serve.ts'
import { greeting } from './greeting.ts'

/**
 * A second signal during the drain ends the process at once. A terminal that goes away is a signal too, and afterwards
 * writing to it fails, which must not cut the drain off: PostgreSQL and what runs would be left behind.
 */
export async function serveCommand(config: Config): Promise<number> {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143)
    process.stderr.write(`groundstate: ${signal}, finishing what runs (again to stop at once)\n`)
    stop.abort()
  }
  const onHangup = () => stop.abort()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup)
  // For good, as the error of the last line comes after it.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  try {
    await serve(config, { signal: stop.signal, onReady: (started) => process.stdout.write(greeting(config, started)) })
    return 0
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('SIGHUP', onHangup)
  }
}
