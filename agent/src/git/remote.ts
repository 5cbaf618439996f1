import { GitError } from './errors.ts'

/** A repository elsewhere, and how to reach it. */
export type Remote = {
  /** `https://…`, `http://…`, `ssh://…` or `user@host:path`, without a password. */
  url: string
  credential: GitCredential
  network: GitNetwork
}

/** The one that fits the URL is used; submodules on the same host use it, too. */
export type GitCredential = {
  basic?: { username: string; password: string } | undefined
  /** In PEM or OpenSSH format, without a passphrase. */
  privateKey?: string | undefined
}

export type GitNetwork = {
  /**
   * Resolves the host of a URL to the addresses that git may connect to, and throws if it may not: git connects to these only. Undefined
   * where a proxy connects.
   */
  checkAddress?: ((url: RemoteUrl) => Promise<string[] | undefined>) | undefined
  /** Proxies as curl's environment names them. */
  proxy?: { http_proxy?: string; https_proxy?: string; no_proxy?: string } | undefined
  /** PEM file of certificate authorities, instead of the system's. */
  caFile?: string | undefined
  /** Keeps the keys of ssh hosts from the first connection on; without its line a host's new key is accepted. */
  knownHostsFile: string
  /** Allows `file://` URLs, in tests. */
  allowFile?: boolean
}

export type RemoteUrl = {
  text: string
  scheme: 'https' | 'http' | 'ssh' | 'file'
  /** Without brackets. */
  host: string
  /** Undefined for the default port of ssh. */
  port: number | undefined
  user: string | undefined
}

const MAX_URL = 2000
const SCP = /^(?:([A-Za-z0-9_][\w.+-]*)@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):(?!\/\/)[^-]/
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*)$/

/** Parses the URL of a repository. Throws a `GitError` for one that git must not get; its message does not repeat a password. */
export function parseRemoteUrl(text: string, { allowFile = false }: Pick<GitNetwork, 'allowFile'> = {}): RemoteUrl {
  if (text.length > MAX_URL || /[\s\p{Cc}\\]/u.test(text)) throw invalidUrl('it has spaces or is too long')
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const scp = SCP.exec(text)
    if (!scp) throw invalidUrl('it must be an https, http or ssh URL')
    return { text, scheme: 'ssh', host: unbracketed(scp[2] ?? ''), port: undefined, user: scp[1] }
  }
  const url = URL.parse(text)
  const scheme = url?.protocol.slice(0, -1)
  if (url && scheme === 'file' && allowFile) return { text, scheme, host: '', port: undefined, user: undefined }
  if (!url || (scheme !== 'https' && scheme !== 'http' && scheme !== 'ssh'))
    throw invalidUrl('it must be an https, http or ssh URL')
  if (url.password !== '' || (url.username !== '' && scheme !== 'ssh'))
    throw invalidUrl('it must not hold a credential')
  if (!HOST.test(url.hostname)) throw invalidUrl('it has no valid host')
  if (url.username !== '' && !/^[A-Za-z0-9_][\w.+-]*$/.test(url.username))
    throw invalidUrl('its user name is not valid')
  if (url.search !== '' || url.hash !== '') throw invalidUrl('it must not have a query or fragment')
  const port = url.port === '' ? { https: 443, http: 80, ssh: undefined }[scheme] : Number(url.port)
  return { text: url.href, scheme, host: unbracketed(url.hostname), port, user: url.username || undefined }
}

function invalidUrl(why: string) {
  return new GitError('invalid', `the URL of the repository is not valid: ${why}`)
}

const unbracketed = (host: string) => host.replace(/^\[(.+)\]$/, '$1')

/** Scheme, host and port of an http URL, as git's configuration takes them. */
export function originOf({ text }: RemoteUrl) {
  return new URL(text).origin
}

/**
 * The remote of a submodule: a relative URL starts at its superproject's, and only the same host gets the credential. Without TLS it gets
 * the password only if the superproject's URL does, too.
 */
export function submoduleRemote(remote: Remote, url: string): Remote {
  const parent = parseRemoteUrl(remote.url, remote.network)
  const resolved = /^\.\.?(?:\/|$)/.test(url) ? resolveRelative(parent, url) : url
  const target = parseRemoteUrl(resolved, remote.network)
  const isSameHost = target.host !== '' && target.host.toLowerCase() === parent.host.toLowerCase()
  const isSameOrigin = isSameHost && target.scheme === parent.scheme && target.port === parent.port
  // ssh does not use the password, but its own submodules may. Another port may be another service.
  const keepsPassword = isSameOrigin || target.scheme === 'ssh' || (target.scheme === 'https' && target.port === 443)
  const { privateKey } = remote.credential
  const credential = keepsPassword ? remote.credential : { privateKey }
  return { ...remote, url: target.text, credential: isSameHost ? credential : {} }
}

function resolveRelative(parent: RemoteUrl, url: string) {
  const [, base = '', path = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/]*\/)(.*)$/i.exec(parent.text) ?? /^([^:]+:)(.*)$/.exec(parent.text) ?? []
  const names = path.replace(/\/+$/, '').split('/')
  for (const part of url.split('/')) {
    if (part === '..') {
      if (names.pop() === undefined) throw new GitError('invalid', `the submodule's URL ${url} leads out of the host`)
    } else if (part !== '.' && part !== '') names.push(part)
  }
  return base + names.join('/')
}
