import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startTime } from '../process/claim.ts'
import { messageOf } from '../process/errors.ts'
import { pidScope } from '../process/process-id.ts'
import { GIT_LIMITS, type GitLimits, type GitOutput, type GitTask, runGit } from './command.ts'
import { GitError, failureOf } from './errors.ts'
import { type Remote, type RemoteUrl, originOf, parseRemoteUrl } from './remote.ts'

/** Runs git for one remote, with a private directory that holds the SSH key, if any, until the session ends. */
export type Session = AsyncDisposable & {
  readonly remote: Remote
  /** Runs a command that may connect to the remote, which git calls `origin`, to its end, whatever its exit code. Throws as `runGit` does. */
  run: (task: SessionTask) => Promise<GitOutput>
  /** A command that does not connect. */
  local: (task: SessionTask) => GitTask
  /** Throws a `GitError` for a page that is no repository, such as a form to sign in, which git takes for an empty one. */
  checkIsGit: () => Promise<void>
  /** The error for the output of a failed command. */
  failure: (stderr: string) => GitError
}

export type SessionTask = {
  args: readonly string[]
  gitDir?: string
  input?: string
  maxBytes?: number
}

const MAX_REDIRECTS = 3
const PREFIX = 'groundstate-git-'

/** Opens a session. Throws a `GitError` for a URL or an address that is not allowed. */
export async function openSession(
  remote: Remote,
  signal: AbortSignal,
  limits: GitLimits = GIT_LIMITS,
): Promise<Session> {
  let url = parseRemoteUrl(remote.url, remote.network)
  const { privateKey } = remote.credential
  if (url.scheme === 'ssh' && privateKey === undefined)
    throw new GitError('unauthorised', `${url.text} is read through ssh, which needs an SSH key`)
  signal.throwIfAborted()
  const addresses = await addressesOf(remote, url)
  await removeLeftovers()
  const owner = [await pidScope(), process.pid, await startTime(process.pid)].join('-')
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${owner}-`))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  await mkdir(join(directory, 'home'), { mode: 0o700 })
  const keyFile = join(directory, 'key')
  if (url.scheme === 'ssh') await writeFile(keyFile, privateKey ?? '', { mode: 0o600 })

  const failure = (stderr: string) => failureOf(stderr, { url: url.text, host: url.host })

  function task({ args, gitDir, input, maxBytes }: SessionTask, settings: [string, string][], more = {}): GitTask {
    const env = { ...environment(directory), ...configured([...baseSettings(limits), ...settings]), ...more }
    const location = gitDir === undefined ? [] : [`--git-dir=${gitDir}`]
    return { args: [...location, ...args], cwd: directory, env, input, maxBytes, gitDir, signal, limits, url: url.text }
  }

  async function attempt(given: SessionTask, trace = {}) {
    const ssh = url.scheme === 'ssh' ? { GIT_SSH_COMMAND: sshCommand(url, addresses, keyFile, remote, limits) } : {}
    const transport = { GIT_ALLOW_PROTOCOL: url.scheme, ...remote.network.proxy, ...ssh, ...trace }
    return runGit(task(given, remoteSettings(remote, url, addresses), transport))
  }

  const local = (given: SessionTask) => task(given, [], { GIT_ALLOW_PROTOCOL: 'none' })
  const run = async (given: SessionTask) => {
    for (let redirects = 0; ; redirects += 1) {
      const output = await attempt(given)
      const isRedirected = output.code !== 0 && /returned error: 30[1278]/.test(output.stderr)
      const next = isRedirected && redirects < MAX_REDIRECTS ? await redirection() : undefined
      if (next === undefined) return output
      url = next
    }
  }

  /** Git redacts credentials in this trace. */
  async function responseHeaders() {
    const trace = { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' }
    return (await attempt({ args: ['ls-remote', '--', 'origin', 'HEAD'] }, trace)).stderr
  }

  const checkIsGit = async () => {
    if (url.scheme !== 'http' && url.scheme !== 'https') return
    if (!/content-type: application\/x-git-upload-pack-advertisement/i.test(await responseHeaders()))
      throw new GitError('unreachable', `${url.text} answers, but not as a git server`)
  }

  /** Git does not follow redirects here, since they could lead to addresses that were not checked. One to the same host is a renamed repository. */
  async function redirection(): Promise<RemoteUrl | undefined> {
    const location = /<= Recv header: location: (.*)/i.exec(await responseHeaders())?.[1]?.trim()
    const target = location === undefined ? null : URL.parse(location, `${url.text.replace(/\/$/, '')}/info/refs`)
    const suffix = '/info/refs'
    if (!target?.pathname.endsWith(suffix)) return undefined
    const next = parseRemoteUrl(`${target.origin}${target.pathname.slice(0, -suffix.length)}`)
    const isUpgrade = url.scheme === 'http' && next.scheme === 'https' && next.port === 443
    const isSame = next.host === url.host && (isUpgrade || originOf(next) === originOf(url))
    return isSame && next.text !== url.text ? next : undefined
  }

  const cleanup = stack.move()
  return { remote, run, local, checkIsGit, failure, [Symbol.asyncDispose]: () => cleanup.disposeAsync() }
}

async function addressesOf({ network }: Remote, url: RemoteUrl): Promise<string[] | undefined> {
  if (url.scheme === 'file' || !network.checkAddress) return undefined
  try {
    return await network.checkAddress(url)
  } catch (error) {
    throw new GitError('unreachable', `git may not connect to ${url.host}: ${messageOf(error)}`, { cause: error })
  }
}

/** Nothing of this process's environment but the path reaches git, and no configuration of the system or a user. */
function environment(directory: string) {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: join(directory, 'home'),
    TMPDIR: directory,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_CEILING_DIRECTORIES: dirname(directory),
  }
}

/** Passes settings in the environment: unlike arguments, only the same user can read it. */
function configured(settings: [string, string][]) {
  const pairs = settings.flatMap(([key, value], n) => [
    [`GIT_CONFIG_KEY_${n}`, key],
    [`GIT_CONFIG_VALUE_${n}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...(Object.fromEntries(pairs) as Record<string, string>) }
}

function baseSettings({ idleMs }: GitLimits): [string, string][] {
  return [
    ['core.hooksPath', '/dev/null'],
    ['core.askPass', ''],
    ['credential.helper', ''],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
    ['protocol.version', '2'],
    // A pack for every fetch: its growth is watched.
    ['fetch.unpackLimit', '1'],
    ['fetch.fsckObjects', 'true'],
    // Old tools wrote commits and trees like these, which do no harm.
    ['fetch.fsck.badTimezone', 'ignore'],
    ['fetch.fsck.missingSpaceBeforeDate', 'ignore'],
    ['fetch.fsck.zeroPaddedFilemode', 'ignore'],
    ['http.followRedirects', 'false'],
    // Ends a git that has outlived this process, too.
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', String(Math.max(1, Math.ceil(idleMs / 1000)))],
  ]
}

function remoteSettings({ credential, network }: Remote, url: RemoteUrl, addresses: string[] | undefined) {
  const settings: [string, string][] = [
    ['remote.origin.url', url.text],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.partialCloneFilter', 'blob:none'],
  ]
  if (url.scheme !== 'http' && url.scheme !== 'https') return settings
  if (network.caFile !== undefined) settings.push(['http.sslCAInfo', network.caFile])
  if (addresses !== undefined && isIP(url.host) === 0) {
    const list = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',')
    settings.push(['http.curloptResolve', `${url.host}:${url.port}:${list}`])
  }
  if (credential.basic !== undefined) {
    const { username, password } = credential.basic
    const header = `Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    settings.push([`http.${originOf(url)}/.extraHeader`, header])
  }
  return settings
}

function sshCommand(
  url: RemoteUrl,
  addresses: string[] | undefined,
  key: string,
  { network }: Remote,
  limits: GitLimits,
) {
  const [address] = addresses ?? []
  const options = {
    BatchMode: 'yes',
    IdentityFile: key,
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    PreferredAuthentications: 'publickey',
    StrictHostKeyChecking: 'accept-new',
    UserKnownHostsFile: quotedOption(network.knownHostsFile),
    GlobalKnownHostsFile: '/dev/null',
    UpdateHostKeys: 'no',
    CheckHostIP: 'no',
    HostKeyAlias: url.port === undefined ? url.host : `[${url.host}]:${url.port}`,
    ClearAllForwardings: 'yes',
    ConnectTimeout: Math.max(1, Math.ceil(limits.idleMs / 2000)),
    ServerAliveInterval: Math.max(1, Math.ceil(limits.idleMs / 4000)),
    ServerAliveCountMax: 3,
    ...(address !== undefined && { HostName: address }),
    ...(url.user === undefined && { User: 'git' }),
  }
  const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return ['ssh', '-F', '/dev/null', ...words].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ')
}

const quotedOption = (path: string) => `"${path.replaceAll('%', '%%')}"`

/** Removes the directories of processes that were killed. */
async function removeLeftovers() {
  for (const name of await readdir(tmpdir())) {
    const [, scope, pid, startedAt] = new RegExp(`^${PREFIX}(?:([\\da-f]{16})-)?(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid === undefined || (await startTime(Number(pid))) === startedAt) continue
    // Those of earlier versions have none.
    if (scope !== undefined && scope !== (await pidScope())) continue
    // Another user's cannot be removed.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {})
  }
}
