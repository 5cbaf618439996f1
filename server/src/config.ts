import { AGENT_SETTINGS, TOKEN_VARIABLES } from '@groundstate/agent/settings/agent-settings'
import {
  type Sources,
  type Values,
  findText,
  knownVariables,
  readSettings,
  unknownProblem,
  unknownVariables,
  variablesOf,
} from '@groundstate/agent/settings/setting'
import ipaddr from 'ipaddr.js'
import { SETTINGS } from './settings.ts'
import { StartError } from './start-error.ts'

export type Config = Readonly<Values<typeof SETTINGS>>

export class ConfigError extends StartError {}

function githubAppProblems(values: Partial<Config>) {
  if (values.githubAppId === undefined) return []
  const missing = (['Slug', 'ClientId', 'ClientSecret', 'WebhookSecret'] as const).filter(
    (name) => values[`githubApp${name}`] === undefined,
  )
  const hasKey = values.githubAppPrivateKey !== undefined || values.githubAppPrivateKeyFile !== undefined
  return [...missing, ...(hasKey ? [] : (['PrivateKeyFile'] as const))].map(
    (name) =>
      `${variablesOf(`githubApp${name}`, SETTINGS[`githubApp${name}`])[0]}: it must be set when GROUNDSTATE_GITHUB_APP_ID is`,
  )
}

/** Settings that have no effect without another one, by that one. Variables of other programs are not meant. */
const DEPENDENT: readonly { on: string; isOn: (values: Partial<Config>) => boolean; names: (keyof Config)[] }[] = [
  {
    on: 'GROUNDSTATE_DATABASE_URL',
    isOn: ({ databaseUrl }) => databaseUrl !== undefined,
    names: ['databaseDirectUrl'],
  },
  {
    on: 'GROUNDSTATE_TLS=files',
    isOn: ({ tls }) => tls === 'files',
    names: ['tlsCert', 'tlsKey'],
  },
  {
    on: 'GROUNDSTATE_OIDC_ISSUER',
    isOn: ({ oidcIssuer }) => oidcIssuer !== undefined,
    names: ['oidcClientId', 'oidcClientSecret', 'oidcName', 'oidcScopes', 'oidcGroupClaim'],
  },
  {
    on: 'GROUNDSTATE_GITHUB_APP_ID',
    isOn: ({ githubAppId }) => githubAppId !== undefined,
    names: namesOf('githubApp', 'githubAppId'),
  },
  {
    on: 'GROUNDSTATE_S3_BUCKET',
    isOn: ({ s3Bucket }) => s3Bucket !== undefined,
    names: namesOf('s3', 's3Bucket'),
  },
  {
    on: 'GROUNDSTATE_S3_ACCESS_KEY_ID',
    isOn: ({ s3AccessKeyId, s3Bucket }) => s3AccessKeyId !== undefined || s3Bucket === undefined,
    names: ['s3SessionToken'],
  },
]

function namesOf(prefix: string, except: keyof Config) {
  const names = Object.keys(SETTINGS) as (keyof Config)[]
  return names.filter((name) => name.startsWith(prefix) && name !== except)
}

function ineffectiveProblems(values: Partial<Config>, sources: Sources) {
  return DEPENDENT.filter(({ isOn }) => !isOn(values)).flatMap(({ on, names }) =>
    names.flatMap((name) => {
      const found = findText(name, { ...SETTINGS[name], foreign: [] }, sources)
      return found === undefined ? [] : [`${found.source}: it has no effect without ${on}; set that too, or remove it`]
    }),
  )
}

/** Whether only this machine can reach the server: it listens on loopback, and no proxy is configured. */
export function isOnLoopback({ host, baseUrl, trustProxy }: Pick<Config, 'host' | 'baseUrl' | 'trustProxy'>) {
  const isNamedElsewhere = baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname)
  return isLoopbackHost(host) && !isNamedElsewhere && trustProxy === undefined
}

/** Whether a host name or IP address is this machine's loopback. */
export function isLoopbackHost(host: string) {
  const name = host.replace(/^\[(.+)\]$/, '$1')
  return name === 'localhost' || (ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback')
}

/** Known variables. Those of the standalone agent and of client commands are ignored. */
const KNOWN = new Set([
  ...knownVariables(SETTINGS),
  ...knownVariables(AGENT_SETTINGS),
  ...TOKEN_VARIABLES,
  'GROUNDSTATE_TOKEN',
])

/** Reads all settings from environment variables and flags. Throws a `ConfigError` that lists all invalid ones. */
export function readConfig(env: Sources['env'], flags: Sources['flags'] = {}): Config {
  const { values, problems } = readSettings(SETTINGS, { env, flags })
  if (values.oidcIssuer !== undefined && values.oidcClientId === undefined)
    problems.push('GROUNDSTATE_OIDC_CLIENT_ID: it must be set when GROUNDSTATE_OIDC_ISSUER is')
  if (values.passwordSignIn === false && values.oidcIssuer === undefined)
    problems.push(
      'GROUNDSTATE_PASSWORD_SIGN_IN: without it GROUNDSTATE_OIDC_ISSUER must be set, otherwise users could not sign in',
    )
  if ((values.smtpUrl === undefined) !== (values.mailFrom === undefined))
    problems.push('GROUNDSTATE_SMTP_URL and GROUNDSTATE_MAIL_FROM: both must be set, or neither')
  problems.push(...githubAppProblems(values))
  // An invalid value counts as one that is not set, which would repeat its problem for each that depends on it.
  if (problems.length === 0) problems.push(...ineffectiveProblems(values, { env, flags }))
  const unknown = unknownVariables(env, 'GROUNDSTATE_', KNOWN)
  problems.push(...unknown.map((variable) => unknownProblem(variable, KNOWN)))
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return values as Config
}
