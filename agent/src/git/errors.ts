/**
 * Why git failed; `message` is for users and contains no credentials.
 *
 * - `unauthorised`: the host refuses the credential, or needs one
 * - `forbidden`: the credential may not read this repository
 * - `not-found`: no such repository, commit or file, or none that the credential may read
 * - `unreachable`: no connection, a broken one, or an answer that is not git's; may be retried
 * - `too-large`: a limit was exceeded, which the message names
 * - `conflict`: commits cannot be merged at all, such as those without a common ancestor
 * - `invalid`: a URL, object name or content that is not acceptable, or a changed host key
 * - `timed-out`: no progress, or the total time limit; may be retried
 */
export type GitErrorKind =
  | 'unauthorised'
  | 'forbidden'
  | 'not-found'
  | 'unreachable'
  | 'too-large'
  | 'conflict'
  | 'invalid'
  | 'timed-out'

export class GitError extends Error {
  override name = 'GitError'
  readonly kind: GitErrorKind

  constructor(kind: GitErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }

  /** Whether another attempt may succeed, without anybody changing anything. */
  get mayPass() {
    return this.kind === 'unreachable' || this.kind === 'timed-out'
  }
}

type Where = { url: string; host: string }

/** Messages of git, curl and OpenSSH in the C locale. The first match counts, since a failed transport ends with general ones. */
const FAILURES: readonly [RegExp, GitErrorKind, (where: Where) => string][] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED/,
    'invalid',
    ({ host }) =>
      `the SSH host key of ${host} has changed: somebody may impersonate the host. Connect again once its administrator confirms the new key`,
  ],
  [/Host key verification failed/, 'invalid', ({ host }) => `the SSH host key of ${host} could not be verified`],
  [/transport '\w+' not allowed/, 'invalid', ({ url }) => `${url} has a protocol that is not allowed`],
  [
    /returned error: 403/,
    'forbidden',
    ({ url }) => `${url} refused access (403): the credential may not read the repository`,
  ],
  [
    /terminal prompts disabled|Authentication failed|could not read (?:Username|Password)|returned error: 401/,
    'unauthorised',
    ({ url }) => `${url} refused the user name and password or token`,
  ],
  [/Load key ".*": /, 'unauthorised', ({ url }) => `the SSH key for ${url} cannot be read`],
  [/Permission denied \(/, 'unauthorised', ({ url }) => `${url} refused the SSH key`],
  [
    /returned error: 404|repository '.*' not found|Repository not found|does not appear to be a git repository|could not be found|not valid: is this a git repository/i,
    'not-found',
    ({ url }) => `${url} is not a repository, or not one that the credential may read`,
  ],
  [/returned error: 30\d/, 'unreachable', ({ url }) => `${url} redirects to another host`],
  [
    /returned error: 429/,
    'unreachable',
    ({ host }) => `${host} limits the rate of requests (429): the next attempt must wait`,
  ],
  [/Operation too slow|Operation timed out|Connection timed out/, 'timed-out', ({ url }) => `${url} does not answer`],
  [
    /SSL certificate problem|server certificate verification failed|SSL: no alternative certificate|certificate subject name/,
    'unreachable',
    ({ host }) => `the TLS certificate of ${host} cannot be verified`,
  ],
  [/Could not resolve (?:host|proxy|hostname)/, 'unreachable', ({ host }) => `the name ${host} cannot be resolved`],
  [/refusing to merge unrelated histories/, 'conflict', () => 'the commits have no common ancestor'],
  [
    /fsck error|error: object [0-9a-f]+: /,
    'invalid',
    ({ url }) => `${url} has an object that git considers malformed: check the repository with git fsck`,
  ],
  [/mismatched algorithms/, 'invalid', ({ url }) => `${url} uses SHA-256 object names, which are not supported`],
  [
    /usage: git |unknown option|is not a git command/,
    'invalid',
    () => 'git is too old here: 2.38 or later is required',
  ],
  [/No space left on device/, 'unreachable', () => 'there is no space left on the disk for repositories'],
]

/** The error for a failed command. Output of the host is not part of it, since a host may echo what it received. */
export function failureOf(stderr: string, where: Where): GitError {
  const [, kind, message] = FAILURES.find(([pattern]) => pattern.test(stderr)) ?? []
  if (kind !== undefined && message !== undefined) return new GitError(kind, message(where))
  const status = /returned error: (\d{3})/.exec(stderr)?.[1]
  const reason = status === undefined ? 'the connection failed or was closed' : `it answers with status ${status}`
  return new GitError('unreachable', `git cannot read ${where.url}: ${reason}`)
}

/** Whether a command failed because the local repository is damaged. Lines of the remote do not count. */
export function isDamaged(stderr: string): boolean {
  const own = stderr.replaceAll(/^remote: .*$/gm, '')
  return /bad (?:object|tree|config)|corrupt|unable to read (?:tree|sha1|object)|not a git repository|missing (?:blob|tree|commit)|missing object|is far too short|is too small|Could not read [0-9a-f]{40}|not a tree object|cannot be accessed|did not send all necessary objects|unable to parse commit/i.test(
    own,
  )
}
