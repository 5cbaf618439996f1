import { homedir } from 'node:os'
import { join } from 'node:path'
import { AGENT_SETTINGS, TOKEN_VARIABLES } from '@groundstate/agent/agent-settings'
import { cpuLimit, memoryLimit } from '@groundstate/agent/limit-settings'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { SECRET_FORM, secretBytes } from './secrets/secret-form.ts'
import { addressProblem } from './server-address.ts'
import { StartError } from './start-error.ts'

const flag = z
  .enum(['true', 'false', '1', '0', 'on', 'off', 'yes', 'no'])
  .transform((value) => ['true', '1', 'on', 'yes'].includes(value))
function integer(min: number, max: number) {
  const error = `it must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).pipe(z.int({ error }).min(min, { error }).max(max, { error }))
}
const webAddress = z.url({
  protocol: /^https?$/,
  error: 'it must be an address that begins with http:// or https://',
})
const baseAddress = webAddress.transform((url) => url.replace(/\/+$/, ''))
const ownAddress = baseAddress.superRefine((text, context) => {
  const problem = URL.canParse(text) ? addressProblem(text) : undefined
  if (problem !== undefined) context.addIssue(problem)
})
const days = integer(0, 36_500)
const milliseconds = integer(1, 2 ** 31 - 1)

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
  .refine(isDatabaseUrl, 'it must be an address such as postgresql://user:password@host:5432/name')
  .optional()

function isDatabaseUrl(text: string) {
  // The host after `@` may be missing: the socket's folder is then a parameter.
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace('@/', '@socket/'))
}

/** The unprivileged user that PostgreSQL runs as can't enter root's home, so root's data is below `/var/lib`. */
function defaultDataDir() {
  return process.getuid?.() === 0 ? '/var/lib/groundstate' : join(homedir(), '.groundstate')
}

type Setting = { schema: z.ZodType; doc: string; shown?: string; secret?: true }

/**
 * All settings of the server. The environment variable is `GROUNDSTATE_` + the key, the flag its kebab-case form. A
 * schema parses the text of the variable, or `undefined` when it is not set. The table in docs/SETTINGS.md is generated
 * from this.
 */
export const SETTINGS = {
  PORT: { schema: integer(0, 65_535).default(7777), doc: 'port to listen on; 0 picks a free one' },
  HOST: { schema: z.string().default('127.0.0.1'), doc: 'address to listen on' },
  BASE_URL: {
    schema: ownAddress.optional(),
    doc: 'address under which clients, agents and receivers reach this server; it may have a path',
    shown: 'from host, port and TLS',
  },
  DATA_DIR: {
    schema: z.string().default(defaultDataDir),
    doc: 'folder for the embedded database, state, logs and keys',
    shown: '`~/.groundstate`, or `/var/lib/groundstate` as root',
  },
  DATABASE_URL: {
    schema: databaseAddress,
    doc: 'PostgreSQL 15 or later to use in place of the embedded one',
    secret: true,
  },
  DATABASE_DIRECT_URL: {
    schema: databaseAddress,
    doc: 'address of that PostgreSQL itself, for LISTEN and migrations, where DATABASE_URL is a pooler in transaction mode',
    secret: true,
  },
  DATABASE_POOL_SIZE: {
    schema: integer(1, 200).default(8),
    doc: 'connections of this process to the database at most, beside the one that listens and, of the embedded database, the one that guards it',
  },
  DATABASE_PREPARED: {
    schema: flag.optional(),
    doc: 'whether connections keep statements prepared; a pooler must be able to, such as PgBouncer 1.21 with `max_prepared_statements`',
    shown: 'on, off when DATABASE_DIRECT_URL is set',
  },
  ROLE: {
    schema: z.enum(['all', 'api', 'worker']).default('all'),
    doc: 'what this process does: answer requests, do background work, or both',
  },
  AGENTS: {
    schema: z.enum(['0', '1']).transform(Number).default(1),
    doc: 'whether this process runs the built-in agent',
  },
  CONCURRENCY: { schema: integer(1, 256).default(10), doc: 'runs that the built-in agent executes at the same time' },
  ENGINE: {
    schema: z.enum(['terraform', 'tofu']).default('terraform'),
    doc: 'engine of runs for which nobody has named one, where agents have both; otherwise they get the one that is there',
  },
  ENGINE_PATH: {
    schema: z.string().optional(),
    doc: 'terraform or tofu binary, or a folder of them, for the built-in agent',
    shown: 'found on the PATH',
  },
  ISOLATION: {
    schema: z.enum(['auto', 'user', 'off']).default('auto'),
    doc: 'whether each run executes as a user of its own: `auto` where it can be, `user` in any case, or `off`',
  },
  FIRST_RUN_USER: {
    schema: integer(1_000, 2 ** 31 - 65_537).optional(),
    doc: 'first of the 65536 user and group ids that agents of this machine share out to runs',
    shown: '1900000000',
  },
  SANDBOX: {
    schema: flag.default(false),
    doc: 'whether runs execute in a sandbox of bubblewrap, which must be installed',
    shown: 'off',
  },
  MEMORY_LIMIT: {
    schema: memoryLimit.optional(),
    doc: 'memory that a program of a run may take, such as `2g`',
    shown: 'none',
  },
  CPU_LIMIT: {
    schema: cpuLimit.optional(),
    doc: 'processors that a program of a run may take, such as `1.5`',
    shown: 'none',
  },
  PIDS_LIMIT: {
    schema: integer(64, 4_194_304).optional(),
    doc: 'processes and threads that a run may have',
    shown: '4096 where runs have users of their own, none otherwise',
  },
  HOOKS: {
    schema: z.string().optional(),
    doc: 'folder of programs that the built-in agent runs around plans and applies: pre-plan, post-plan, pre-apply, post-apply',
    shown: 'none',
  },
  ENGINE_DOWNLOADS: {
    schema: flag.default(false),
    doc: 'whether the built-in agent downloads engines that are not here, their signatures checked',
    shown: 'off',
  },
  TERRAFORM_MIRROR: {
    schema: baseAddress.default('https://releases.hashicorp.com'),
    doc: 'where the built-in agent downloads Terraform from',
  },
  OPENTOFU_MIRROR: {
    schema: baseAddress.default('https://github.com/opentofu/opentofu/releases/download'),
    doc: 'where the built-in agent downloads OpenTofu from',
  },
  ENGINE_KEY_FILE: {
    schema: z.string().optional(),
    doc: 'PGP public keys that may have signed downloads, beside those of HashiCorp and OpenTofu',
  },
  ADMIN_TOKEN: {
    schema: z.string().min(16, 'it must have at least 16 characters').optional(),
    doc: 'fixed API token of the first administrator, which ends when another is set; without it one is generated and printed once',
    secret: true,
  },
  ADMIN_EMAIL: {
    schema: z.email({ error: 'it must be an e-mail address' }).max(254).default('admin@localhost.localdomain'),
    doc: 'e-mail address of the first administrator, and of the first organization; an account that has one keeps it',
  },
  SECRET: {
    schema: z
      .string()
      .refine((text) => secretBytes(text) !== undefined, `it must be ${SECRET_FORM}`)
      .optional(),
    doc: '32 bytes, hex or base64, that encrypt secrets and state at rest',
    shown: 'generated into the data folder',
    secret: true,
  },
  EDITION: {
    schema: z.enum(['self-managed', 'hosted']).default('self-managed'),
    doc: 'which edition of the API to implement',
  },
  STATE_CHECK: {
    schema: z.enum(['strict', 'lenient']).default('strict'),
    doc: 'whether the serial and lineage of a new state version must equal those inside the raw state',
  },
  RUN_TASK_TIMEOUT: { schema: milliseconds.default(600_000), doc: "time for a run task's callback, in ms" },
  PLAN_TIMEOUT: { schema: milliseconds.default(7_200_000), doc: 'time limit of a plan, in ms' },
  APPLY_TIMEOUT: { schema: milliseconds.default(86_400_000), doc: 'time limit of an apply, in ms' },
  TRIGGER_DELAY: {
    schema: integer(0, 60_000).default(2000),
    doc: 'time between an apply and the runs that it triggers, in ms; what else is applied meanwhile joins them',
  },
  CANCEL_GRACE: {
    schema: milliseconds.default(30_000),
    doc: 'time between the interrupt that cancels a run and the moment a forced cancel is allowed, in ms',
  },
  LEASE: {
    schema: integer(1000, 3_600_000).default(30_000),
    doc: 'time without a sign of life after which the agent of a plan is taken to be gone, in ms; that of an apply gets four times as long',
  },
  LOG_LIMIT: {
    schema: integer(1, 2 ** 31 - 1).default(100_000_000),
    doc: 'bytes of output to keep of a plan or an apply; the rest is dropped, and a line in the log says so',
  },
  DRAIN_TIMEOUT: {
    schema: milliseconds.default(60_000),
    doc: 'time for running jobs to finish after SIGTERM, in ms',
  },
  TLS: {
    schema: z.enum(['off', 'auto', 'files']).default('off'),
    doc: '`auto` makes a local authority in the data folder, `files` reads TLS_CERT and TLS_KEY',
  },
  TLS_CERT: { schema: z.string().optional(), doc: 'certificate chain, a PEM file' },
  TLS_KEY: { schema: z.string().optional(), doc: 'private key, a PEM file' },
  ALLOW_PRIVATE_URLS: {
    schema: flag.optional(),
    doc: 'whether the server may call private and loopback addresses for run tasks',
    shown: 'on when HOST and BASE_URL are loopback addresses and TRUST_PROXY is not set',
  },
  AUDIT_RETENTION_DAYS: {
    schema: integer(0, 36_500).default(365),
    doc: 'days for which the audit trail is kept; 0 keeps it for ever',
  },
  LOG_RETENTION_DAYS: {
    schema: days.default(365),
    doc: 'days for which logs of plans and applies are kept, and the texts of run tasks about them; 0 keeps them for ever',
  },
  PLAN_RETENTION_DAYS: {
    schema: days.default(90),
    doc: 'days for which plans are kept as JSON, which web pages show as changes; 0 keeps them for ever',
  },
  ARCHIVE_RETENTION_DAYS: {
    schema: days.default(90),
    doc: 'days for which archives of configurations are kept that no run has used since; a data retention policy goes before; 0 keeps them for ever',
  },
  DELIVERY_RETENTION_DAYS: {
    schema: days.default(30),
    doc: 'days for which is kept what was sent to receivers of run tasks and what they answered; 0 keeps it for ever',
  },
  AGENT_RETENTION_DAYS: {
    schema: days.default(30),
    doc: 'days for which agents are listed that have exited or fallen silent; 0 keeps them for ever',
  },
  RUN_HISTORY_RETENTION_DAYS: {
    schema: days.default(0),
    doc: 'days for which the events of a run and the jobs of its agents are kept; 0 keeps them for ever',
  },
  OIDC_ISSUER: {
    schema: webAddress.transform((url) => new URL(url)).optional(),
    doc: 'address of the OpenID Connect provider that people may sign in with',
  },
  OIDC_CLIENT_ID: { schema: z.string().optional(), doc: 'client id of this server at the provider' },
  OIDC_CLIENT_SECRET: {
    schema: z.string().optional(),
    doc: 'client secret of this server at the provider',
    secret: true,
  },
  OIDC_NAME: {
    schema: z.string().max(60).default('single sign-on'),
    doc: 'name of the provider on the sign-in pages',
  },
  OIDC_SCOPES: {
    schema: z.string().default('openid profile email'),
    doc: 'scopes to request; some providers send groups only for a scope of their own',
  },
  OIDC_GROUP_CLAIM: {
    schema: z.string().default('groups'),
    doc: 'claim with the names or ids of the groups that a person is in, for team membership',
  },
  PASSWORD_SIGN_IN: {
    schema: flag.default(true),
    doc: 'whether people may sign in with a password',
    shown: 'on',
  },
  HTTPS_PROXY: {
    schema: z.url({ error: 'it must be an address such as http://proxy.example:3128' }).optional(),
    doc: 'proxy for requests to run tasks at https addresses',
    shown: 'HTTPS_PROXY',
  },
  HTTP_PROXY: {
    schema: z.url({ error: 'it must be an address such as http://proxy.example:3128' }).optional(),
    doc: 'proxy for requests to run tasks at http addresses',
    shown: 'HTTP_PROXY',
  },
  NO_PROXY: {
    schema: z.string().optional(),
    doc: 'hosts that are called without a proxy, separated by commas',
    shown: 'NO_PROXY',
  },
  TRUST_PROXY: {
    schema: proxies.optional(),
    doc: 'proxies whose X-Forwarded-For header is trusted: addresses and networks, or `loopback` and `uniquelocal`, separated by commas',
    shown: 'none: the address is that of the connection',
  },
  RATE_LIMIT: {
    schema: integer(0, 1_000_000).optional(),
    doc: 'requests a second for each token; 0 is off',
    shown: '30 in the hosted edition, off otherwise',
  },
  S3_BUCKET: { schema: z.string().optional(), doc: 'bucket for state, logs and archives; without it they are on disk' },
  S3_ENDPOINT: { schema: webAddress.optional(), doc: 'address of the S3-compatible service' },
  S3_REGION: { schema: z.string().default('us-east-1'), doc: 'region of the bucket' },
  S3_PREFIX: { schema: z.string().default(''), doc: 'prefix of every key in the bucket' },
  S3_ACCESS_KEY_ID: { schema: z.string().optional(), doc: 'access key', secret: true },
  S3_SECRET_ACCESS_KEY: { schema: z.string().optional(), doc: 'secret key', secret: true },
  LOG_LEVEL: {
    schema: z.enum(['silent', 'error', 'warn', 'info', 'debug']).optional(),
    doc: 'which log lines are written to the standard error, as JSON away from a terminal',
    shown: '`info`, or `warn` on a terminal',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS
type Settings = { [Name in SettingName]: z.infer<(typeof SETTINGS)[Name]['schema']> }
export type Config = { readonly [Name in SettingName as CamelCase<Name>]: Settings[Name] }
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<S>

export class ConfigError extends StartError {}

/** The name of a setting in code, `DATA_DIR` → `dataDir`. */
export function settingKey(name: string) {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Settings for which a common variable of that name, in upper or lower case, is the fallback. */
export const USUAL_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'] as const satisfies readonly SettingName[]

/** Whether only this machine can reach the server: it listens on loopback, and no proxy makes it known elsewhere. */
export function isOnLoopback({ host, baseUrl, trustProxy }: Pick<Config, 'host' | 'baseUrl' | 'trustProxy'>) {
  const isNamedElsewhere = baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname)
  return isLoopbackHost(host) && !isNamedElsewhere && trustProxy === undefined
}

/** Whether a host of an address or to listen on, by name or number, is this machine's loopback. */
export function isLoopbackHost(host: string) {
  const name = host.replace(/^\[(.+)\]$/, '$1')
  return name === 'localhost' || (ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback')
}

/** The flag of a setting on the command line, `DATA_DIR` → `--data-dir`. */
export function settingFlag(name: string) {
  return `--${name.toLowerCase().replaceAll('_', '-')}`
}

/**
 * Reads all settings from `values`, by the names of the environment variables (`GROUNDSTATE_PORT`). An empty variable
 * counts as not set. Throws a `ConfigError` that lists all invalid settings, by variable or by the name that `sourceOf`
 * gives.
 */
export function readConfig(
  values: Record<string, string | undefined>,
  sourceOf: (variable: string) => string = (variable) => variable,
): Config {
  const config: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const variable = `GROUNDSTATE_${name}`
    const text = values[variable]
    const result = setting.schema.safeParse(text === '' ? undefined : text)
    if (result.success) config[settingKey(name)] = result.data
    else {
      const value = 'secret' in setting ? '' : ` ${JSON.stringify(text)}`
      problems.push(`${sourceOf(variable)}${value}: ${result.error.issues.map(problemText).join(', ')}`)
    }
  }
  if (config['databaseDirectUrl'] !== undefined && config['databaseUrl'] === undefined)
    problems.push('GROUNDSTATE_DATABASE_URL: it must be set when GROUNDSTATE_DATABASE_DIRECT_URL is')
  if (config['oidcIssuer'] !== undefined && config['oidcClientId'] === undefined)
    problems.push('GROUNDSTATE_OIDC_CLIENT_ID: it must be set when GROUNDSTATE_OIDC_ISSUER is')
  if (config['passwordSignIn'] === false && config['oidcIssuer'] === undefined)
    problems.push(
      'GROUNDSTATE_PASSWORD_SIGN_IN: without it GROUNDSTATE_OIDC_ISSUER must be set, or nobody could sign in',
    )
  for (const variable of Object.keys(values)) {
    if (variable.startsWith('GROUNDSTATE_') && !Object.hasOwn(SETTINGS, variable.slice('GROUNDSTATE_'.length))) {
      if (!AGENT_VARIABLES.has(variable)) problems.push(`${variable}: there is no such setting`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return config as Config
}

function problemText(issue: z.core.$ZodIssue) {
  return issue.code === 'invalid_value' ? `it must be one of ${issue.values.join(', ')}` : issue.message
}

/** Variables of the stand-alone agent and of client commands, which the server ignores. */
const AGENT_VARIABLES = new Set<string>([
  'GROUNDSTATE_TOKEN',
  ...TOKEN_VARIABLES,
  ...Object.values(AGENT_SETTINGS).flatMap(({ own }) => own),
])
