import { z } from 'zod'
import type { CONFIGURATION_SOURCES } from './configuration-versions.ts'
import { optionalId, requestBody, toMany, toOneOrNone } from './json-api.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  linksToMany,
  nullable,
  resource,
  timestamp,
} from './responses.ts'
import { privateKey } from './ssh-keys.ts'

/**
 * The kinds of hosts by their names in the public API, and two of our own: `gitea` and `git`, any server that speaks git over https or ssh.
 * What each can do is in `server/src/vcs-hosts/`. `source` is that of configuration versions.
 */
export const SERVICE_PROVIDERS = {
  github: { name: 'GitHub', source: 'github' },
  github_enterprise: { name: 'GitHub Enterprise', source: 'github' },
  gitlab_hosted: { name: 'GitLab', source: 'gitlab' },
  gitlab_community_edition: { name: 'GitLab Community Edition', source: 'gitlab' },
  gitlab_enterprise_edition: { name: 'GitLab Enterprise Edition', source: 'gitlab' },
  bitbucket_hosted: { name: 'Bitbucket Cloud', source: 'bitbucket' },
  bitbucket_server: { name: 'Bitbucket Server', source: 'bitbucket' },
  bitbucket_server_legacy: { name: 'Bitbucket Server (legacy)', source: 'bitbucket' },
  bitbucket_data_center: { name: 'Bitbucket Data Center', source: 'bitbucket' },
  ado_services: { name: 'Azure DevOps Services', source: 'ado' },
  ado_server: { name: 'Azure DevOps Server', source: 'ado' },
  gitea: { name: 'Gitea and Forgejo', source: 'gitea' },
  git: { name: 'Git server', source: 'git' },
} as const satisfies Record<string, { name: string; source: (typeof CONFIGURATION_SOURCES)[number] }>
export type ServiceProvider = keyof typeof SERVICE_PROVIDERS
const serviceProvider = z.enum(Object.keys(SERVICE_PROVIDERS) as [ServiceProvider, ...ServiceProvider[]])

const withoutSlash = (url: string) => url.replace(/\/+$/, '')

function address(name: string, protocol: RegExp, rule: string) {
  const hasWrongPort = (url: unknown) => Number(/^\w+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(String(url))?.[1]) > 65_535
  return z
    .url({ protocol, error: ({ input }) => (hasWrongPort(input) ? 'its port must be at most 65535' : rule) })
    .max(2000)
    .refine((url) => !hasCredentials(url), {
      error: `${name} is invalid (value not shown): it must not contain a password or, over http, a user name`,
    })
    .transform(withoutSlash)
}

/** Addresses are shown. Only the user name of an ssh URL is no secret. */
function hasCredentials(text: string) {
  const url = URL.parse(text)
  return Boolean(url?.password) || (url?.protocol !== 'ssh:' && Boolean(url?.username))
}

/** Clients send an empty text instead of nothing. */
const secret = z
  .string()
  .max(10_000)
  .transform((text) => text || undefined)

const attributes = z.object({
  name: z.string().trim().max(255).nullish(),
  'service-provider': serviceProvider,
  /** The address of the host in a browser, or for `git` that of the server, which may be an ssh URL. */
  'http-url': address('http-url', /^(?:https?|ssh)$/, 'it must be an http, https or ssh URL').nullish(),
  /** The address of its API; for `git` the same as `http-url`. */
  'api-url': address('api-url', /^https?$/, 'it must be an http or https URL').nullish(),
  /** OAuth client id, or consumer key. */
  key: z.string().max(1000).nullish(),
  secret: secret.nullish(),
  'rsa-public-key': z.string().max(10_000).nullish(),
  /** The private key with which git fetches over ssh. */
  'private-key': z.union([z.literal('').transform(() => undefined), privateKey('private-key')]).nullish(),
  'ado-entra-tenant-id': z.string().max(255).nullish(),
  /** An access token that the host has issued: with it, no browser is needed to connect. */
  'oauth-token-string': secret.nullish(),
  /** The user of the access token, where the host needs one. */
  'oauth-token-username': z.string().max(255).nullish(),
  /** Whether every workspace of the organization may use it, and not only those of its projects. */
  'organization-scoped': z.boolean().nullish(),
  'fork-plans-enabled': z.boolean().nullish(),
  'polling-enabled': z.boolean().nullish(),
})
const relationships = z.object({
  'agent-pool': toOneOrNone('agent-pools').optional(),
  projects: toMany('projects').optional(),
})

export const createOAuthClientBody = requestBody('oauth-clients', attributes, relationships)
export type CreateOAuthClient = z.infer<typeof createOAuthClientBody>['data']

/** The kind of a host and its addresses do not change, since workspaces refer to them. A client may repeat them. */
const fixed = z.string().max(2000).transform(withoutSlash).nullish()

export const updateOAuthClientBody = requestBody(
  'oauth-clients',
  attributes.extend({ 'service-provider': fixed, 'http-url': fixed, 'api-url': fixed }).partial(),
  relationships,
)
export type UpdateOAuthClient = z.infer<typeof updateOAuthClientBody>['data']

export const oauthClientProjectsBody = toMany('projects')

export const oauthClientSchema = resource('oauth-clients', {
  name: 'OAuthClient',
  attributes: {
    name: nullable.string,
    'created-at': timestamp,
    'updated-at': timestamp,
    'service-provider': serviceProvider,
    'service-provider-display-name': z.string(),
    'http-url': nullable.string,
    'api-url': nullable.string,
    'callback-url': nullable.string.describe('to register with the host as the redirect URL of the OAuth application'),
    'connect-path': nullable.string.describe(
      'path that starts the authorization in a browser; null while connected, and without a key',
    ),
    key: nullable.string,
    secret: z.null().describe('always null: write-only'),
    'rsa-public-key': nullable.string,
    'ado-entra-tenant-id': nullable.string,
    uuid: z.string(),
    'organization-scoped': z.boolean(),
    'affected-workspaces': z
      .array(z.string())
      .optional()
      .describe('names of up to 25 workspaces that use it, with `show_affected_workspaces`'),
    'affected-workspaces-count': z.int().optional().describe('with `show_affected_workspaces`'),
    'last-delivery-at': nullable.time
      .optional()
      .describe('our own: the last time that the host reported something, with `show_affected_workspaces`'),
    'fork-plans-enabled': z
      .boolean()
      .describe('our own: whether pull requests from forks are planned, without sensitive variables'),
    'polling-enabled': z
      .boolean()
      .describe('our own: whether the server asks the host for changes, for hosts that cannot call it'),
    status: z
      .enum(['pending', 'connected', 'failed'])
      .describe('our own: `pending` before the first token, `failed` since the host refused the token'),
    'status-message': nullable.string.describe(
      'our own: why it failed, and what to do; while connected, since when the host cannot be reached',
    ),
    'blocked-until': nullable.time.describe('our own: the host limits requests, none is sent before'),
  },
  relationships: {
    organization: hasOne('organizations'),
    'agent-pool': hasOne('agent-pools'),
    projects: hasMany('projects'),
    'oauth-tokens': hasMany('oauth-tokens'),
  },
  links: { self: z.string() },
})
export type OAuthClientResource = Written<typeof oauthClientSchema>

export const updateOAuthTokenBody = requestBody(
  'oauth-tokens',
  z.object({ 'ssh-key': privateKey('Ssh key').nullish() }),
)
export type UpdateOAuthToken = z.infer<typeof updateOAuthTokenBody>['data']['attributes']

export const oauthTokenSchema = linkedResource('oauth-tokens', {
  attributes: {
    'created-at': timestamp,
    'service-provider-user': nullable.string,
    'has-ssh-key': z.boolean(),
  },
  relationships: {
    'oauth-client': hasOne('oauth-clients'),
    'vcs-organizations': linksToMany('vcs-organizations'),
  },
})
export type OAuthTokenResource = Written<typeof oauthTokenSchema>

/** Our own: what the host said when it was asked for the user of the connection's token, or git about one of its repositories. */
export const connectionTestSchema = resource('connection-tests', {
  attributes: {
    result: z
      .enum(['accepted', 'refused', 'unreachable', 'untested'])
      .describe('`untested`: the host has no API, and no workspace uses a repository through the connection'),
    'service-provider-user': nullable.string,
    message: nullable.string,
  },
  relationships: { 'oauth-client': hasOne('oauth-clients') },
})
export type ConnectionTestResource = Written<typeof connectionTestSchema>

/** A repository that the token may read, for choosing one. */
export const authorizedRepoSchema = resource('authorized-repos', {
  attributes: { name: z.string(), 'display-identifier': z.string() },
  relationships: { 'oauth-token': hasOne('oauth-tokens') },
})

/** `next-page` is null on the last page; hosts do not count. */
export const authorizedReposSchema = z.strictObject({
  data: z.array(authorizedRepoSchema),
  meta: z.strictObject({ 'next-page': z.int().nullable() }),
})

export const vcsOrganizationSchema = resource('vcs-organization', { attributes: { name: z.string() } })

export const vcsRepoCheckSchema = resource('vcs-repo-check', {
  attributes: { exists: z.boolean(), identifier: z.string() },
})

/** A directory of a repository. */
export const vcsTreeSchema = resource('vcs-tree', {
  attributes: { path: z.string().describe('our own: the same as the id') },
})

export const githubAppInstallationSchema = resource('github-app-installations', {
  attributes: {
    name: nullable.string,
    'installation-id': nullable.int,
    'icon-url': nullable.string,
    'installation-type': nullable.string,
    'installation-url': nullable.string,
    'status-message': nullable.string.describe('our own: why GitHub refuses the installation'),
  },
})
export type GithubAppInstallationResource = Written<typeof githubAppInstallationSchema>

/** A repository that an installation may read, for choosing one. */
export const githubAppRepoSchema = resource('github-app-repos', {
  attributes: {
    name: nullable.string,
    identifier: nullable.string,
    'installation-id': nullable.string,
    private: z.null().describe('always null'),
  },
})
export const githubAppReposSchema = z.strictObject({
  data: z.array(githubAppRepoSchema),
  meta: z.strictObject({ 'next-page': z.int().nullable() }),
})

/** The repository of a workspace: null removes it, absent members keep their values. */
export const vcsRepo = z.object({
  identifier: z.string().min(1, "identifier can't be blank").max(1000).nullish(),
  branch: z.string().max(255).nullish(),
  'ingress-submodules': z.boolean().nullish(),
  'oauth-token-id': optionalId,
  'github-app-installation-id': optionalId,
  'tags-regex': z.string().max(1000).nullish(),
})

export const vcsRepoSchema = z.strictObject({
  identifier: z.string(),
  'display-identifier': z.string(),
  branch: z.string().describe('empty for the default branch'),
  'ingress-submodules': z.boolean(),
  'oauth-token-id': nullable.string.optional(),
  'github-app-installation-id': nullable.string.optional(),
  'repository-http-url': z.string(),
  'service-provider': serviceProvider,
  tags: z.boolean().describe('whether tags start runs, not pushes to a branch'),
  'tags-regex': nullable.string,
  'webhook-url': nullable.string.describe('null for callers that may not update the workspace'),
})
