import { resolve } from 'node:path'
import { messageOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import type { StateServerOptions } from './state-server.ts'
import type { Progress } from './state-source-and-target.ts'
import { type TransferOptions, type TransferResult, exportStates, importStates } from './state-transfer.ts'

type CommonFlags = { url: string; token?: string; organization: string; workspace?: string[]; latest?: string }
export type StateExportFlags = CommonFlags & { directory: string }
export type StateImportFlags = CommonFlags & {
  directory?: string
  fromUrl?: string
  fromToken?: string
  fromOrganization?: string
  checkpoint?: string
  replace?: boolean
}

/** Writes an organization's states to a directory. Returns the exit code. */
export async function stateExportCommand(flags: StateExportFlags): Promise<number> {
  const from = server(flags)
  const latest = latestOf(flags)
  return transferred('exported', async (options) =>
    exportStates({ ...options, workspaces: flags.workspace, latest, from, directory: resolve(flags.directory) }),
  )
}

/** Copies states from a directory or another server to an organization. Returns the exit code. */
export async function stateImportCommand(flags: StateImportFlags): Promise<number> {
  const to = server(flags)
  const from = importSource(flags)
  const latest = latestOf(flags)
  // From a directory, the checkpoint is stored with the states.
  const checkpointFile = flags.checkpoint ?? ('directory' in from ? undefined : defaultCheckpoint(from, to))
  const onReady = () => {
    if (checkpointFile !== undefined) process.stderr.write(`The progress is recorded in ${checkpointFile}\n`)
  }
  const { workspace: workspaces, replace } = flags
  return transferred('imported', async (options) =>
    importStates({ ...options, workspaces, latest, replace, onReady, from, to: { ...to, checkpointFile } }),
  )
}

function importSource(flags: StateImportFlags): { directory: string } | StateServerOptions {
  const { directory, fromUrl: url, fromToken: token, fromOrganization } = flags
  if ((directory === undefined) === (url === undefined)) throw new StartError('set either --directory or --from-url')
  if (directory !== undefined) return { directory: resolve(directory) }
  const organization = fromOrganization ?? flags.organization
  return server({ url: url ?? '', token, organization }, 'from-')
}

type ServerFlags = { url: string; token?: string | undefined; organization: string }

/** `prefix` is that of the flags: `from-` for the source of an import. */
function server({ url, token, organization }: ServerFlags, prefix: '' | 'from-' = ''): StateServerOptions {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new StartError(`--${prefix}url ${url}: it must be an address such as https://app.terraform.io`)
  const variable = prefix === '' ? 'GROUNDSTATE_TOKEN' : 'GROUNDSTATE_FROM_TOKEN'
  if (token === undefined || token === '')
    throw new StartError(`there is no API token for ${url}: set ${variable} or --${prefix}token`)
  return { url, token, organization }
}

function latestOf({ latest }: CommonFlags) {
  if (latest === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(latest))
    throw new StartError(`--latest ${latest}: it must be a number of states, such as 10`)
  return Number(latest)
}

function defaultCheckpoint(from: StateServerOptions, to: StateServerOptions) {
  const name = ({ url, organization }: StateServerOptions) => `${new URL(url).host}-${organization}`
  return resolve(`import-${name(from)}-to-${name(to)}.progress`.replaceAll(/[^\w.-]/g, '-'))
}

/** Runs a transfer with progress on stderr. An interrupt stops it after the current version. */
async function transferred(verb: string, transfer: (options: TransferOptions) => Promise<TransferResult>) {
  const progress = progressView(process.stderr)
  const abort = new AbortController()
  const onSignal = () => abort.abort()
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    const { workspaces, versions, bytes, skipped, leftOut, refused } = await transfer({
      onProgress: progress.show,
      signal: abort.signal,
    })
    progress.end()
    for (const { workspace, reason } of refused) {
      process.stderr.write(`groundstate: skipped workspace ${workspace}: ${reason}\n`)
    }
    const earlier =
      (skipped > 0 ? `, ${skipped} of them before` : '') +
      (leftOut > 0 ? `, ${leftOut} left out, since newer ones exist` : '')
    process.stdout.write(
      `${verb} ${counted(versions, 'state')} of ${counted(workspaces, 'workspace')} (${megabytes(bytes)} now${earlier})\n`,
    )
    return refused.length > 0 ? 1 : 0
  } catch (error) {
    progress.end()
    if (abort.signal.aborted) {
      process.stderr.write('groundstate: interrupted; run the same command to continue\n')
      return 130
    }
    process.stderr.write(`groundstate: ${messageOf(error)}\n`)
    return 1
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

function counted(count: number, noun: string) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const BAR = 24
/** Number of versions between progress lines without a terminal. */
const LINE_EVERY = 100

/** Shows progress as a bar on a terminal, otherwise as lines; `end` moves a terminal to a new line. */
function progressView(output: NodeJS.WriteStream) {
  let isOpen = false

  function bar(progress: Progress) {
    const { workspace, workspaceNumber, workspaces, done, versions } = progress
    const filled = versions === 0 ? BAR : Math.round((BAR * done) / versions)
    const text =
      `[${workspaceNumber}/${workspaces}] ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ` +
      `${done}/${versions} ${workspace}  ${megabytes(progress.bytes)}`
    output.write(`\r\x1b[2K${text.slice(0, (output.columns ?? 80) - 1)}`)
    isOpen = true
  }

  function line({ workspace, workspaceNumber, workspaces, done, versions }: Progress) {
    if (done < versions && (done === 0 || done % LINE_EVERY !== 0)) return
    output.write(`[${workspaceNumber}/${workspaces}] ${workspace}: ${done} of ${versions} states\n`)
  }

  return {
    show: output.isTTY ? bar : line,
    end() {
      if (isOpen) output.write('\n')
      isOpen = false
    },
  }
}

function megabytes(bytes: number) {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
