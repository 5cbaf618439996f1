import { join, resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { serve, type Started } from '../serve.ts'

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

/** What a new user reads: where the server is, the login (shown this once), and the lines to paste next. */
function greeting(config: Config, { baseUrl, admin, caFile }: Started) {
  const lines = [`Groundstate is ready at ${baseUrl}`, '']
  if (caFile !== undefined)
    lines.push(`Its certificate comes from a local authority: trust ${caFile} (see docs/OPERATIONS.md)`, '')
  if (admin.username !== undefined && admin.password !== undefined)
    lines.push(`  user      ${admin.username}`, `  password  ${admin.password}`)
  if (admin.token !== undefined) lines.push(`  API token ${admin.token}`)
  if (admin.password !== undefined || admin.token !== undefined) lines.push('  (shown this once)', '')
  const root = resolve(import.meta.dirname, '../../..')
  const bin = join(root, 'node_modules/.bin/groundstate')
  const port = new URL(baseUrl).port
  const url = baseUrl === 'http://127.0.0.1:7777' ? '' : ` GROUNDSTATE_URL=${baseUrl}`
  // The other terminal knows nothing of this one's settings.
  const where = config.dataDir === readConfig({}).dataDir ? '' : ` --data-dir ${config.dataDir}`
  const canCreate = config.adminToken === undefined && config.databaseUrl === undefined
  const token = admin.token ?? (canCreate ? `$(${bin} token create${where})` : '…your token…')
  lines.push(
    'Your first run, in another terminal:',
    '',
    `  export GROUNDSTATE_TOKEN=${token}${port === '' ? '' : url}`,
    `  cp -r ${join(root, 'examples/hello')} hello && cd hello`,
    `  ${bin} exec -- terraform init`,
    `  ${bin} exec -- terraform apply`,
    '',
  )
  return `${lines.join('\n')}\n`
}
