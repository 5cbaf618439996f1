import type { IncomingHttpHeaders } from 'node:http'

/*
 * What the server asks of a host of repositories. Each host has a directory with the same files: `schemas.ts` (bodies of webhooks and
 * responses), `webhooks.ts` (verification, parsing) and `api.ts` (requests). `list.ts` assigns them to the kinds of hosts. Nothing outside
 * these directories knows one host from another: what differs is a capability.
 */

export type Host = {
  /** Name for users, such as in "GitHub refused the token". */
  name: string
  capabilities: HostCapabilities
  /** Addresses where the user gives none; null if the user must. `apiUrl` is derived from `httpUrl` if possible. */
  addresses: (httpUrl: string | undefined) => { httpUrl: string; apiUrl: string } | null
  webhooks: HostWebhooks
  /** Null for a host without an API. */
  api: ((connection: HostConnection) => HostApi) | null
  /** Authorization in a browser; null for a host that connects in other ways only. */
  oauth: ((connection: Pick<HostConnection, 'httpUrl' | 'fetch'>) => HostOAuth) | null
  /** URLs of pages and for git, for a repository whose identifier the host's API has confirmed, or that is all there is. */
  repositoryUrls: (connection: Pick<HostConnection, 'httpUrl'>, identifier: string) => RepositoryUrls
  /** Between the page of a repository and the name of a commit, such as `/commit/`; null for a host without pages of commits. */
  commitPath: string | null
  /** User and password for git over https. */
  gitCredential: (connection: Pick<HostConnection, 'token' | 'username'>) => { username: string; password: string }
}

/** `page` is empty for a host without pages. */
export type RepositoryUrls = { page: string; clone: string; ssh: string | null }

export type HostCapabilities = {
  /** Ways to connect. `token`: an access token issued by the host; `oauth`: authorization in a browser; `ssh-key`: git over ssh. */
  connectsBy: readonly ('token' | 'oauth' | 'app' | 'ssh-key')[]
  /** A token needs a user name, for git or for the API. */
  needsUsername: boolean
  /** Webhooks can be created through the API; otherwise users create them. */
  createsWebhooks: boolean
  listsRepositories: boolean
  hasPullRequests: boolean
  /** Commit statuses. */
  hasStatuses: boolean
  /** Comments on pull requests, in Markdown; null without any. `rendersHtml` is whether they may contain some HTML. */
  comments: { maxLength: number; rendersHtml: boolean } | null
}

/** An access to the host. `fetch` obeys the rules for outbound addresses, or sends through an agent. */
export type HostConnection = {
  httpUrl: string
  apiUrl: string
  token: string
  username: string | null
  fetch: typeof fetch
  /** Time limit for a request to the API, in ms; 30 s by default. */
  timeoutMs?: number
}

/** Requests of the host's API. All throw a `HostError`. */
export type HostApi = {
  /** Name of the user that the token belongs to. */
  readUser(): Promise<string>
  /** Repositories whose name contains `query`, at most `size`. */
  listRepositories(input: { query: string; page: number; size: number }): Promise<HostPage<HostRepository>>
  /** Owners of repositories: organizations, groups, projects or workspaces of the host. */
  listOwners(): Promise<string[]>
  /** Undefined if there is none, or none that the token may read. */
  findRepository(identifier: string): Promise<HostRepository | undefined>
  listBranches(identifier: string, query: string): Promise<string[]>
  /** Id of the webhook. Replaces an existing one with the same URL. */
  createWebhook(identifier: string, input: { url: string; secret: string }): Promise<string>
  /** A missing webhook is no error. */
  deleteWebhook(identifier: string, id: string): Promise<void>
  listOpenPullRequests(identifier: string): Promise<PullRequest[]>
  findPullRequest(identifier: string, number: number): Promise<PullRequest | undefined>
  setStatus(identifier: string, sha: string, status: CommitStatus): Promise<void>
  /** Id of the comment on a pull request. */
  createComment(identifier: string, number: number, body: string): Promise<string>
  /** Replaces the text of a comment; false if it has been deleted. */
  updateComment(identifier: string, number: number, comment: { id: string; body: string }): Promise<boolean>
  /** Id of the comment that contains `text`, among about 300: the latest, if the host can sort. */
  findComment(identifier: string, number: number, text: string): Promise<string | undefined>
}

/** The application registered with the host. */
export type OAuthApplication = { clientId: string; clientSecret: string; redirectUrl: string }

/** The authorization code grant of OAuth 2.0 (RFC 6749 §4.1). */
export type HostOAuth = {
  /** The page of the host on which a person grants access. It redirects to `redirectUrl` with `state`, and `code` or `error`. */
  authorizeUrl(input: Omit<OAuthApplication, 'clientSecret'> & { state: string }): string
  /** Throws a `HostError`: `unauthorised` if the host refuses the code or the application. */
  exchange(input: OAuthApplication & { code: string }): Promise<OAuthGrant>
  /** Throws a `HostError`: `unauthorised` if the host refuses the token, so that a person has to authorize again. */
  refresh(input: OAuthApplication & { refreshToken: string }): Promise<OAuthGrant>
}

export type OAuthGrant = {
  token: string
  /** Replaces the previous one, which hosts may revoke. Null if the host has none. */
  refreshToken: string | null
  /** Null for a token that does not expire. */
  expiresInMs: number | null
}

export type HostPage<Row> = { rows: Row[]; nextPage: number | null }

export type HostRepository = {
  /** As `vcs-repo.identifier` has it, such as `acme/network`. */
  identifier: string
  displayIdentifier: string
  page: string
  clone: string
  ssh: string | null
  /** Empty in an empty repository, and in the lists of hosts that would have to be asked for each. */
  defaultBranch: string
}

/** The state of one workspace at a commit. Hosts show `context` as its name, and keep the last one of each context. */
export type CommitStatus = {
  context: string
  state: 'pending' | 'success' | 'failure' | 'error'
  /** At most 140 characters. */
  description: string
  url: string
}

/**
 * Why a request to a host failed; `message` is for users.
 *
 * - `unauthorised`: the host refuses the token, until somebody replaces it
 * - `forbidden`: the token may not do this, such as create webhooks
 * - `not-found`: no such repository, or none that the token may read
 * - `rate-limited`: no requests before `retryAfterMs`
 * - `unavailable`: no response, a 5xx, or one that cannot be parsed
 */
export class HostError extends Error {
  override name = 'HostError'
  readonly kind: 'unauthorised' | 'forbidden' | 'not-found' | 'rate-limited' | 'unavailable'
  readonly retryAfterMs: number | undefined

  constructor(kind: HostError['kind'], message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
  }

  /** Whether the host may answer later, without anybody changing anything. */
  get mayPass() {
    return this.kind === 'unavailable' || this.kind === 'rate-limited'
  }
}

export type WebhookRequest = { headers: IncomingHttpHeaders; body: Buffer }

export type HostWebhooks = {
  /** Headers that prove the secret, one of which a request must have, with their form; for messages. */
  signedBy: readonly string[]
  /** Whether the request was signed with the secret, compared in constant time. */
  verify(request: WebhookRequest, secret: string): boolean
  /** Id of the delivery, which its repetitions share; undefined if the host has none: then the digest of the body serves. */
  deliveryId(request: WebhookRequest): string | undefined
  /**
   * The identifier of the repository and what happened, in order: one push may update several branches. Throws a `ZodError` for a body that
   * is not the host's. `ignored` says why a valid request needs no decision, such as "a comment was added".
   */
  parse(request: WebhookRequest): ParsedWebhook
}

export type ParsedWebhook = { identifier: string | undefined } & (
  | { events: [HostEvent, ...HostEvent[]]; ignored?: undefined }
  | { events?: undefined; ignored: string }
)

/** An event in a repository, the same for all hosts, whether a webhook said so or polling found it. */
export type HostEvent = PushEvent | TagEvent | PullRequestEvent

export type Sender = { username: string; avatarUrl: string; pageUrl: string }

/** `message` and `url` are empty if the body of a webhook lacks them. */
export type EventCommit = { sha: string; message: string; url: string }

export type PushEvent = {
  kind: 'push'
  branch: string
  /** Null for a new branch. */
  before: string | null
  /** Null for a deleted branch. */
  commit: EventCommit | null
  compareUrl: string
  sender: Sender
  /** Paths, if the body lists all of them; null if git has to be asked. */
  changedFiles: string[] | null
}

export type TagEvent = { kind: 'tag'; tag: string; commit: EventCommit | null; sender: Sender }

export type PullRequestEvent = {
  kind: 'pull-request'
  /** `updated` for new commits or another base; other changes are ignored. */
  action: 'opened' | 'updated' | 'merged' | 'closed'
  pullRequest: PullRequest
  sender: Sender
}

export type PullRequest = {
  number: number
  title: string
  body: string
  url: string
  /** Bitbucket Cloud abbreviates `sha` to 12 digits in webhooks and lists; `findPullRequest` returns all of them. */
  head: EventCommit & { branch: string }
  /** `sha` is null if the host does not say. */
  base: { branch: string; sha: string | null }
  /** The head is in another repository. */
  isFork: boolean
  /** Ref of the head in the repository itself, such as `refs/pull/7/head`; null if it has none, as forks on some hosts. */
  headRef: string | null
  /** The commit that the merge left on the base branch; null before, or if the body of a webhook lacks it. */
  mergeSha: string | null
  author: Sender
}
