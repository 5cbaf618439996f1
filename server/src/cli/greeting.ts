import { dirname, join, resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import type { Started } from '../serve.ts'

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
