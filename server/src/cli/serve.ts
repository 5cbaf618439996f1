import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { type Started, serve } from '../serve.ts'

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

/** The start message: the server's address, the login (shown only once), and the commands to paste next. */
export function greeting(config: Config, { baseUrl, admin, caFile, movedDatabase }: Started) {
  const lines = [`Groundstate is ready at ${baseUrl}`, '']
  if (caFile !== undefined)
    lines.push(`Its certificate comes from a local authority: trust ${caFile} (see docs/OPERATIONS.md)`, '')
  if (movedDatabase !== undefined)
    lines.push(
      `The database is kept in ${movedDatabase}: the user it runs as can't enter ${dirname(resolve(config.dataDir))}.`,
      `Back it up along with ${config.dataDir}`,
      '',
    )
  if (admin.username !== undefined && admin.password !== undefined)
    lines.push(`  user      ${admin.username}`, `  password  ${admin.password}`)
  if (admin.token !== undefined) lines.push(`  API token ${admin.token}`)
  if (admin.password !== undefined || admin.token !== undefined) lines.push('  (shown this once)', '')
  const root = resolve(import.meta.dirname, '../../..')
  const bin = forShell(join(root, 'node_modules/.bin/groundstate'))
  const port = new URL(baseUrl).port
  const url = baseUrl === 'http://127.0.0.1:7777' ? '' : ` GROUNDSTATE_URL=${baseUrl}`
  // The other terminal does not have the settings of this one.
  const where = config.dataDir === readConfig({}).dataDir ? '' : ` --data-dir ${forShell(config.dataDir)}`
  const canCreate = config.adminToken === undefined && config.databaseUrl === undefined
  const token = admin.token ?? (canCreate ? `$(${bin} token create${where})` : '…your token…')
  lines.push(
    'Your first run, in another terminal:',
    '',
    `  export GROUNDSTATE_TOKEN=${token}${port === '' ? '' : url}`,
    ...(caFile === undefined ? [] : [`  export SSL_CERT_FILE=${forShell(caFile)}`]),
    `  cp -r ${forShell(join(root, 'examples/hello'))} hello && cd hello`,
    `  ${bin} exec -- terraform init`,
    `  ${bin} exec -- terraform apply`,
    '',
  )
  return `${lines.join('\n')}\n`
}

/** A word as a shell reads it. */
function forShell(word: string) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
