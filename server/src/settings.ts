import { homedir } from 'node:os'
import { join } from 'node:path'
import { onOff, oneOf, wholeNumber } from '@groundstate/agent/settings/schemas'
import type { Settings } from '@groundstate/agent/settings/setting'
import { CONCURRENCY, SHARED_SETTINGS } from '@groundstate/agent/settings/shared-settings'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { databaseAddressProblem } from './database-address.ts'
import { oneSecret, secretList } from './secrets/secret-file.ts'
import { addressProblem, issuerProblem } from './server-address.ts'

const webAddress = z.url({ protocol: /^https?$/, error: 'it must be an address that begins with http:// or https://' })
const baseAddress = webAddress.transform((url) => url.replace(/\/+$/, ''))
const serverAddress = baseAddress.superRefine((text, context) => {
  const problem = URL.canParse(text) ? addressProblem(text) : undefined
  if (problem !== undefined) context.addIssue(problem)
})
const issuerAddress = z.string().superRefine((text, context) => {
  const problem = issuerProblem(text)
  if (problem !== undefined) context.addIssue(problem)
})
const milliseconds = wholeNumber(1, 2 ** 31 - 1)

function retention(days: number, what: string, pronoun = 'them') {
  const doc = `days for which ${what}; 0 keeps ${pronoun} forever`
  return { schema: wholeNumber(0, 36_500).default(days), doc }
}

const tokenTtl = z
  .string()
  .toLowerCase()
  .regex(/^(never|[1-9]\d{0,4}d|[1-9]\d?y)$/, 'it must be a number of days or years, such as 90d or 2y, or never')
  .transform((text) => (text === 'never' ? undefined : text))

function proxySetting(scheme: 'http' | 'https') {
  const shown = `${scheme.toUpperCase()}_PROXY`
  const schema = z.url({ error: 'it must be an address such as http://proxy.example:3128' }).optional()
  return {
    foreign: [shown, shown.toLowerCase()],
    schema,
    doc: `proxy for requests to run tasks at ${scheme} addresses`,
    shown,
  }
}

const proxies = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim())
  for (const name of names) {
    if (isProxy(name)) continue
    context.addIssue(
      `${JSON.stringify(name)} is neither an address, a network such as 10.0.0.0/8, loopback nor uniquelocal`,
    )
  }
  return names
})

function isProxy(name: string) {
  return name === 'loopback' || name === 'uniquelocal' || ipaddr.isValid(name) || ipaddr.isValidCIDR(name)
}

const databaseAddress = z
  .string()
  .superRefine((text, context) => {
    const problem = databaseAddressProblem(text)
    if (problem !== undefined) context.addIssue(problem)
  })
  .optional()

const MAIL_SERVER = 'it must be an address such as smtp://user:password@mail.example.com:587'
const SENDER = /^(?:[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/

/** For root, `/var/lib`: the unprivileged user that PostgreSQL runs as cannot enter root's home. */
function defaultDataDir() {
  return process.getuid?.() === 0 ? '/var/lib/groundstate' : join(homedir(), '.groundstate')
}

/** Settings of the server, listed by `groundstate serve --help` and docs/SETTINGS.md. */
export const SETTINGS = {
  port: { schema: wholeNumber(0, 65_535).default(7777), doc: 'port to listen on; 0 picks a free one' },
  host: { schema: z.string().default('127.0.0.1'), doc: 'address to listen on' },
  baseUrl: {
    schema: serverAddress.optional(),
    doc: 'URL at which clients, agents and run task receivers reach this server; it may have a path',
    shown: 'from host, port and TLS',
  },
  issuerUrl: {
    schema: issuerAddress.optional(),
    doc: 'issuer of the identity tokens of runs: an https address at which services read the two documents of `groundstate identity export`',
    shown: 'the base URL',
  },
  dataDir: {
    schema: z.string().default(defaultDataDir),
    doc: 'directory for the embedded database, state, logs and keys',
    shown: '`~/.groundstate`, or `/var/lib/groundstate` as root',
  },
  gitCacheDir: {
    schema: z.string().optional(),
    doc: 'directory for copies of repositories, of up to 10 GB; not to be shared by replicas',
    shown: '`git` in the data directory',
  },
  databaseUrl: {
    schema: databaseAddress,
    doc: 'PostgreSQL 15 or later to use in place of the embedded one; for TLS with `?sslmode=verify-full&sslrootcert=<PEM file>`',
    secret: true,
  },
  databaseDirectUrl: {
    schema: databaseAddress,
    doc: 'address of that PostgreSQL itself, for LISTEN and migrations, where DATABASE_URL is a pooler in transaction mode',
    secret: true,
  },
  databasePoolSize: {
    schema: wholeNumber(1, 200).default(8),
    doc: 'maximum database connections of this process, in addition to the listening one and, for the embedded database, the one that monitors it',
  },
  databasePrepared: {
    schema: onOff.optional(),
    doc: 'whether connections keep statements prepared; a pooler must support this, as PgBouncer 1.21 does with `max_prepared_statements`',
    shown: 'on, off when DATABASE_DIRECT_URL is set',
  },
  role: {
    schema: oneOf(['all', 'api', 'worker']).default('all'),
    doc: 'what this process does: `all` and `worker` serve requests and run background jobs and the built-in agent, `api` serves requests only; send no clients to a `worker`',
  },
  agents: {
    schema: onOff.transform(Number).default(1),
    doc: 'whether this process runs the built-in agent; 0 or 1, on or off',
  },
  concurrency: { ...CONCURRENCY, schema: CONCURRENCY.schema.default(10) },
  engine: {
    schema: oneOf(['terraform', 'tofu']).default('terraform'),
    doc: 'default engine where agents have both; otherwise runs use the installed one',
  },
  ...SHARED_SETTINGS,
  adminToken: {
    schema: z.string().min(16, 'it must have at least 16 characters').optional(),
    doc: 'API token of the first administrator, of at least 16 characters; a change revokes the previous one; if not set, one is generated and printed once',
    secret: true,
  },
  adminEmail: {
    schema: z.email({ error: 'it must be an e-mail address' }).max(254).default('admin@localhost.localdomain'),
    doc: 'e-mail address of the first administrator and of the first organization; an existing address is kept',
  },
  defaultTokenTtl: {
    schema: tokenTtl.prefault('2y'),
    doc: 'lifetime of API tokens of organizations, teams and users that are created without `expired-at`, in days or years; `never` for tokens that do not expire',
  },
  secret: {
    schema: oneSecret.optional(),
    doc: '32 bytes, hex or base64, that encrypt secrets and state at rest',
    shown: 'generated into the data directory',
    secret: true,
  },
  previousSecrets: {
    schema: secretList.optional(),
    doc: 'other secrets with which content may be encrypted, separated by commas, while the secret is replaced',
    shown: 'the file `previous-secrets` in the data directory, one per line',
    secret: true,
  },
  edition: {
    schema: oneOf(['self-managed', 'hosted']).default('self-managed'),
    doc: 'which edition of the API to implement',
  },
  stateCheck: {
    schema: oneOf(['strict', 'lenient']).default('strict'),
    doc: 'whether the serial and lineage of a new state version must equal those inside the raw state',
  },
  runTaskTimeout: { schema: milliseconds.default(600_000), doc: "time for a run task's callback, in ms" },
  pollingInterval: {
    schema: wholeNumber(60, 86_400).default(60),
    doc: 'time between polls of a repository without webhooks, or of a connection with `polling-enabled`, in s',
  },
  planTimeout: { schema: milliseconds.default(7_200_000), doc: 'time limit of a plan, in ms' },
  applyTimeout: { schema: milliseconds.default(86_400_000), doc: 'time limit of an apply, in ms' },
  triggerDelay: {
    schema: wholeNumber(0, 60_000).default(2000),
    doc: 'time between an apply and the runs that it triggers, in ms; other applies within that time join them',
  },
  cancelGrace: {
    schema: milliseconds.default(30_000),
    doc: 'time between the interrupt that cancels a run and the moment a forced cancel is allowed, in ms',
  },
  lease: {
    schema: wholeNumber(1000, 3_600_000).default(30_000),
    doc: 'time without a heartbeat after which the agent of a plan counts as lost, in ms; four times as long for an apply',
  },
  logLimit: {
    schema: wholeNumber(1, 2 ** 31 - 1).default(100_000_000),
    doc: 'maximum size of the log of a plan or an apply, in bytes; the rest is dropped, with a notice in the log',
  },
  drainTimeout: { schema: milliseconds.default(60_000), doc: 'time for running jobs to finish after SIGTERM, in ms' },
  tls: {
    schema: oneOf(['off', 'auto', 'files']).default('off'),
    doc: '`auto` creates a local certificate authority in the data directory, `files` reads TLS_CERT and TLS_KEY',
  },
  tlsCert: { schema: z.string().optional(), doc: 'certificate chain, a PEM file' },
  tlsKey: { schema: z.string().optional(), doc: 'private key, a PEM file' },
  allowPrivateUrls: {
    schema: onOff.optional(),
    doc: 'whether the server may call private and loopback addresses for run tasks and notifications',
    shown: 'on when HOST and BASE_URL are loopback addresses and TRUST_PROXY is not set',
  },
  auditRetentionDays: retention(365, 'the audit trail is kept', 'it'),
  logRetentionDays: retention(365, 'logs of plans, applies and run tasks are kept'),
  planRetentionDays: retention(90, 'JSON plans are kept, which the web UI shows'),
  archiveRetentionDays: retention(
    90,
    'unused configuration archives are kept; a data retention policy takes precedence',
  ),
  deliveryRetentionDays: retention(
    30,
    'requests to run task receivers with their responses, notifications with theirs, and deliveries of hosts of repositories with their decisions, are kept',
  ),
  agentRetentionDays: retention(30, 'exited and lost agents are listed'),
  runHistoryRetentionDays: retention(0, 'run events and agent jobs are kept'),
  oidcIssuer: {
    schema: webAddress.transform((url) => new URL(url)).optional(),
    doc: 'URL of the OpenID Connect provider for sign-in; with it, the provider cannot be changed in the web UI',
  },
  oidcClientId: { schema: z.string().optional(), doc: 'client id of this server at the provider' },
  oidcClientSecret: {
    schema: z.string().optional(),
    doc: 'client secret of this server at the provider',
    secret: true,
  },
  oidcName: { schema: z.string().max(60).default('single sign-on'), doc: 'name of the provider on the sign-in pages' },
  oidcScopes: {
    schema: z.string().default('openid profile email'),
    doc: 'scopes to request; some providers send groups only for a dedicated scope',
  },
  oidcGroupClaim: {
    schema: z.string().default('groups'),
    doc: "claim with the names or ids of a user's groups, for team membership",
  },
  passwordSignIn: {
    schema: onOff.optional(),
    doc: 'whether users may sign in with a password; takes precedence over the web UI',
    shown: 'as set in the web UI, on by default',
  },
  githubAppId: {
    schema: z.string().regex(/^\d+$/, 'it must be the number of the app').optional(),
    doc: 'id of the GitHub App through which organizations connect; with it, the following settings of the app must be set',
  },
  githubAppSlug: {
    schema: z.string().optional(),
    doc: 'name of the GitHub App in its URL, `https://github.com/apps/<slug>`',
  },
  githubAppUrl: {
    schema: baseAddress.default('https://github.com'),
    doc: 'address of GitHub, or of GitHub Enterprise',
  },
  githubAppPrivateKey: {
    schema: z
      .string()
      .transform((text) => text.replaceAll(String.raw`\n`, '\n'))
      .optional(),
    doc: 'private key of the GitHub App in PEM; line breaks may be written as `\\n`',
    secret: true,
  },
  githubAppPrivateKeyFile: {
    schema: z.string().optional(),
    doc: 'file with that key, as GitHub issues it',
    file: { begin: 'PRIVATE KEY', what: 'private key in PEM' },
  },
  githubAppClientId: { schema: z.string().optional(), doc: 'client id of the GitHub App' },
  githubAppClientSecret: {
    schema: z.string().optional(),
    doc: 'client secret of the GitHub App, to verify that a person may use an installation',
    secret: true,
  },
  githubAppWebhookSecret: {
    schema: z.string().optional(),
    doc: 'secret of the webhook of the GitHub App',
    secret: true,
  },
  smtpUrl: {
    schema: z
      .url({ protocol: /^smtps?$/, error: MAIL_SERVER })
      .transform((url) => new URL(url))
      .optional(),
    doc: 'mail server for invitations, password resets and notifications, such as `smtp://user:password@mail.example.com:587`; `smtps://` for TLS from the start',
    secret: true,
  },
  mailFrom: {
    schema: z
      .string()
      .regex(SENDER, 'it must be an e-mail address, or a name and an address in angle brackets')
      .optional(),
    doc: 'sender of mails: an address, or `Groundstate <groundstate@example.com>`',
  },
  notificationEmailAddresses: {
    schema: oneOf(['members', 'allow']).default('members'),
    doc: 'whom notifications by e-mail may name: only `members` of the organization, or any address with `allow`',
  },
  httpsProxy: proxySetting('https'),
  httpProxy: proxySetting('http'),
  noProxy: {
    foreign: ['NO_PROXY', 'no_proxy'],
    schema: z.string().optional(),
    doc: 'hosts that are called without a proxy, separated by commas',
    shown: 'NO_PROXY',
  },
  trustProxy: {
    schema: proxies.optional(),
    doc: 'proxies whose X-Forwarded-For header is trusted: addresses and networks, or `loopback` and `uniquelocal`, separated by commas',
    shown: 'none: the address of the connection is used',
  },
  rateLimit: {
    schema: wholeNumber(0, 1_000_000).optional(),
    doc: 'requests per second for each token; 0 is off',
    shown: '30 in the hosted edition, off otherwise',
  },
  metricsToken: {
    schema: z.string().min(16, 'it must have at least 16 characters').optional(),
    doc: 'bearer token for `/metrics`, of at least 16 characters; without it, they are shown only while HOST and BASE_URL are loopback addresses and TRUST_PROXY is not set',
    secret: true,
  },
  blobStore: {
    schema: oneOf(['disk', 's3']).optional(),
    doc: 'where state, logs and archives are stored; `disk` while they are moved from a bucket to the data directory',
    shown: '`s3` with S3_BUCKET, otherwise `disk`',
  },
  s3Bucket: { schema: z.string().optional(), doc: 'bucket for state, logs and archives; without it they are on disk' },
  s3Endpoint: {
    schema: webAddress.optional(),
    doc: 'address of the S3-compatible service; it may have a port and a path',
    shown: "Amazon's in the region",
  },
  s3Region: { foreign: ['AWS_REGION'], schema: z.string().default('us-east-1'), doc: 'region of the bucket' },
  s3Addressing: {
    schema: oneOf(['path', 'virtual-host']).default('path'),
    doc: 'whether the bucket is in the path of URLs or, with `virtual-host`, in their host name',
  },
  s3Prefix: { schema: z.string().default(''), doc: 'prefix of every key in the bucket' },
  s3AccessKeyId: {
    schema: z.string().optional(),
    doc: 'access key; without it, the identity of the following settings is used',
    secret: true,
  },
  s3SecretAccessKey: { schema: z.string().optional(), doc: 'secret key', secret: true },
  s3SessionToken: { schema: z.string().optional(), doc: 'session token of a temporary access key', secret: true },
  awsRoleArn: {
    variables: ['AWS_ROLE_ARN'],
    schema: z
      .string()
      .regex(/^arn:/, 'it must be an ARN such as arn:aws:iam::111122223333:role/groundstate')
      .optional(),
    doc: 'role to assume with the web identity token, for the bucket',
  },
  awsWebIdentityTokenFile: {
    variables: ['AWS_WEB_IDENTITY_TOKEN_FILE'],
    schema: z.string().optional(),
    doc: 'file with that token, which is read again when it is used',
  },
  awsRoleSessionName: {
    variables: ['AWS_ROLE_SESSION_NAME'],
    schema: z
      .string()
      .regex(/^[\w+=,.@-]{2,64}$/, 'it must have 2 to 64 letters, digits or characters of _+=,.@-')
      .default('groundstate'),
    doc: 'name of the session of that role, which logs of Amazon show',
  },
  awsEndpointUrlSts: {
    variables: ['AWS_ENDPOINT_URL_STS'],
    schema: webAddress.optional(),
    doc: 'address of the Security Token Service',
    shown: "Amazon's in the region",
  },
  awsContainerCredentialsFullUri: {
    variables: ['AWS_CONTAINER_CREDENTIALS_FULL_URI'],
    schema: webAddress.optional(),
    doc: 'address of the credentials of a container, as EKS Pod Identity sets it',
  },
  awsContainerCredentialsRelativeUri: {
    variables: ['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'],
    schema: z.string().startsWith('/', 'it must be a path').optional(),
    doc: 'path of the credentials of a container, as ECS sets it',
  },
  awsContainerAuthorizationTokenFile: {
    variables: ['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'],
    schema: z.string().optional(),
    doc: 'file with the token for that address, which is read again when it is used',
  },
  awsContainerAuthorizationToken: {
    variables: ['AWS_CONTAINER_AUTHORIZATION_TOKEN'],
    schema: z.string().optional(),
    doc: 'that token itself',
    secret: true,
  },
  logLevel: {
    schema: oneOf(['silent', 'error', 'warn', 'info', 'debug']).optional(),
    doc: 'minimum level of log lines on standard error; JSON unless it is a terminal',
    shown: '`info`, or `warn` on a terminal',
  },
} as const satisfies Settings
