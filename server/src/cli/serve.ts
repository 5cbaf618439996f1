import { realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { type Started, serve } from '../serve.ts'

/**
 * Runs the server and drains it once, however often SIGTERM and SIGINT arrive: both the terminal and npm send Ctrl-C, and `timeout` signals the
 * process and its group. SIGQUIT ends it immediately. A closed terminal sends SIGHUP; failing writes to it must not stop the drain.
 */
export async function serveCommand(config: Config): Promise<number> {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) return
    stop.abort()
    process.stderr.write(
      `groundstate: ${signal}, waiting for running jobs (SIGQUIT, Ctrl-\\ in a terminal, stops immediately)\n`,
    )
  }
  const onHangup = () => stop.abort()
  // Without a core dump, which would contain secrets.
  const onQuit = () => process.exit(128 + constants.signals.SIGQUIT)
  // Never removed: a late signal must not change the exit code.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup).on('SIGQUIT', onQuit)
  // Never removed, since an error may follow the last write.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  await serve(config, {
    signal: stop.signal,
    onReady: (started) => process.stdout.write(greeting(config, started)),
    // Without a drain: nothing may be written with a replaced secret or to a replaced store. Interrupted work continues on another server.
    onRefused: (error) => {
      process.stderr.write(`groundstate: ${error.message}\n`)
      process.exit(1)
    },
  })
  return 0
}

/** The start message: the server's address, the login (shown only once), and commands for a first run. */
export function greeting(config: Config, { baseUrl, admin, caFile, movedDatabase, agentProblem }: Started) {
  const closed = movedDatabase?.closed
  const lines = [`Groundstate is ready at ${baseUrl}`, '']
  if (agentProblem !== undefined) lines.push(`The built-in agent does not run: ${agentProblem}`, '')
  if (caFile !== undefined)
    lines.push(`Its certificate was issued by a local authority: trust ${caFile} (see ${baseUrl}/docs/operations)`, '')
  if (movedDatabase !== undefined)
    lines.push(
      `The database is in ${movedDatabase.home}${closed === undefined ? '' : `: the user it runs as can't enter ${closed}`}.`,
      `Back it up together with ${config.dataDir}`,
      '',
    )
  if (admin.username !== undefined && admin.password !== undefined)
    lines.push(`  user      ${admin.username}`, `  password  ${admin.password}`)
  if (admin.token !== undefined) lines.push(`  API token ${admin.token}`)
  if (admin.password !== undefined || admin.token !== undefined) lines.push('  (shown only once)', '')
  const root = resolve(import.meta.dirname, '../../..')
  const bin = commandOf(root)
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

/** The command for a shell in another directory, from a clone, or a package that npm has installed globally, for a project or for npx. */
function commandOf(root: string) {
  if (root.includes('/_npx/')) return 'npx groundstate'
  const found = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'groundstate'))
  const program = join(root, 'server/bin/groundstate')
  if (found.some((path) => !path.includes('/node_modules/') && isLinkTo(path, program))) return 'groundstate'
  const shims = [join(root, 'node_modules/.bin/groundstate'), join(root, '../.bin/groundstate')]
  return forShell(shims.find((path) => isLinkTo(path, program)) ?? program)
}

function isLinkTo(path: string, program: string) {
  try {
    return realpathSync(path) === realpathSync(program)
  } catch {
    return false
  }
}

function forShell(word: string) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
