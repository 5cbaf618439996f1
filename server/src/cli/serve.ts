import { constants } from 'node:os'
import type { Config } from '../config.ts'
import { serve } from '../serve.ts'
import { greeting } from './greeting.ts'

/**
 * Runs the server and drains it once, however often SIGTERM and SIGINT arrive. A Ctrl-C comes from the terminal and
 * from npm, and `timeout` signals the process and then its group. SIGQUIT ends it at once. A closed terminal also sends
 * a signal, and writing to it fails afterwards, which must not stop the drain.
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
  // Without a core dump, which would contain secrets.
  const onQuit = () => process.exit(128 + constants.signals.SIGQUIT)
  // Never removed: a late signal must not change the exit code.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup).on('SIGQUIT', onQuit)
  // Never removed either: the error of the last line comes after it.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  await serve(config, { signal: stop.signal, onReady: (started) => process.stdout.write(greeting(config, started)) })
  return 0
}
