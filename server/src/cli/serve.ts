import type { Config } from '../config.ts'
import { serve } from '../serve.ts'
import { greeting } from './greeting.ts'

/** A second signal during the drain ends the process at once. */
export async function serveCommand(config: Config): Promise<number> {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143)
    process.stderr.write(`groundstate: ${signal}, finishing what runs (again to stop at once)\n`)
    stop.abort()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    await serve(config, { signal: stop.signal, onReady: (started) => process.stdout.write(greeting(config, started)) })
    return 0
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}
