import { constants } from 'node:os'
import type { Config } from '../config.ts'
import { serve } from '../serve.ts'
import { greeting } from './greeting.ts'

/**
 * However often SIGTERM and SIGINT come, the server drains once: a Ctrl-C reaches it from the terminal and from npm, and
 * `timeout` signals first the process and then its group. SIGQUIT is for who can't wait. A terminal that goes away is a
 * signal too, and afterwards writing to it fails, which must not cut the drain off.
 */
export async function serveCommand(config: Config): Promise<number> {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) return
    stop.abort()
    process.stderr.write(
      `groundstate: ${signal}, finishing what runs (SIGQUIT, Ctrl-\\ in a terminal, stops at once)\n`,
    )
  }
  const onHangup = () => stop.abort()
  // Without a dump of the memory, in which there are secrets.
  const onQuit = () => process.exit(128 + constants.signals.SIGQUIT)
  // For good: a signal that comes late must not take the exit code.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup).on('SIGQUIT', onQuit)
  // For good as well: the error of the last line comes after it.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  await serve(config, { signal: stop.signal, onReady: (started) => process.stdout.write(greeting(config, started)) })
  return 0
}
