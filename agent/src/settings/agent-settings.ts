import { availableParallelism, homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { WORK_KINDS } from '@groundstate/contract/agent'
import { z } from 'zod'
import { messageOf } from '../process/errors.ts'
import { listenAddress, onOff, webAddress, wholeNumber } from './schemas.ts'
import {
  type Settings,
  type Sources,
  type Values,
  findText,
  flagOf,
  knownVariables,
  readSettings,
  readText,
  unknownProblem,
  unknownVariables,
} from './setting.ts'
import { CONCURRENCY, SHARED_SETTINGS } from './shared-settings.ts'

const kindsError = `it must be a comma-separated list of ${WORK_KINDS.join(', ')}`

/** The users of runs cannot enter root's home directory. */
function defaultWorkDir() {
  return process.geteuid?.() === 0 ? '/var/lib/groundstate-agent' : join(homedir(), '.groundstate-agent')
}

/** The settings of a standalone agent, listed by `groundstate-agent --help` and docs/SETTINGS.md. */
export const AGENT_SETTINGS = {
  url: {
    value: '<address>',
    foreign: ['TFC_ADDRESS'],
    // HashiCorp's Kubernetes operator gives its agents the address of the API.
    schema: webAddress.transform((address) => address.replace(/\/api\/v2$/, '')),
    doc: 'address of the server; https by default',
  },
  tokenFile: {
    value: '<file>',
    variables: ['GROUNDSTATE_AGENT_TOKEN_FILE'],
    schema: z.string().optional(),
    doc: 'file with the token of the agent pool',
  },
  name: {
    value: '<name>',
    variables: ['GROUNDSTATE_AGENT_NAME', 'GROUNDSTATE_NAME'],
    foreign: ['TFC_AGENT_NAME'],
    schema: z.string().max(255, 'it must have at most 255 characters').default(hostname),
    doc: 'name of the agent in its pool',
    shown: 'hostname',
  },
  concurrency: {
    ...CONCURRENCY,
    variables: ['GROUNDSTATE_AGENT_CONCURRENCY', 'GROUNDSTATE_CONCURRENCY'],
    schema: CONCURRENCY.schema.default(() => Math.max(1, Math.floor(availableParallelism() / 2))),
    shown: 'half of the cores',
  },
  accept: {
    value: '<kinds>',
    variables: ['GROUNDSTATE_AGENT_ACCEPT'],
    foreign: ['TFC_AGENT_ACCEPT'],
    schema: z
      .string()
      .transform((text) => [...new Set(text.split(',').map((word) => word.trim()))])
      .pipe(z.array(z.enum(WORK_KINDS, { error: kindsError })))
      .default([...WORK_KINDS]),
    doc: 'accepted work: plan, apply, task, repository, policy',
    shown: 'plan,apply,task,repository,policy',
  },
  single: {
    isSwitch: true,
    variables: ['GROUNDSTATE_AGENT_SINGLE'],
    foreign: ['TFC_AGENT_SINGLE'],
    schema: onOff.default(false),
    doc: 'exit with 0 after one job or run task request, regardless of its result',
  },
  idleTimeout: {
    value: '<seconds>',
    variables: ['GROUNDSTATE_AGENT_IDLE_TIMEOUT'],
    schema: wholeNumber(1, 2_000_000).optional(),
    doc: 'exit with 0 after this long without work',
    shown: 'never',
  },
  drainSeconds: {
    value: '<seconds>',
    variables: ['GROUNDSTATE_AGENT_DRAIN_SECONDS', 'GROUNDSTATE_DRAIN_SECONDS'],
    schema: wholeNumber(0, 2_000_000).default(600),
    doc: 'time for running jobs to finish after SIGTERM, in seconds',
  },
  workDir: {
    value: '<directory>',
    variables: ['GROUNDSTATE_AGENT_WORK_DIR', 'GROUNDSTATE_WORK_DIR'],
    foreign: ['TFC_AGENT_DATA_DIR', 'TFC_AGENT_CACHE_DIR'],
    schema: z.string().default(defaultWorkDir),
    doc: 'working directories and caches, for one agent at a time',
    shown: '`~/.groundstate-agent`, or `/var/lib/groundstate-agent` as root',
  },
  metricsAddress: {
    value: '<address>',
    variables: ['GROUNDSTATE_AGENT_METRICS_ADDRESS'],
    schema: listenAddress.optional(),
    doc: 'where to serve `/healthz`, `/readyz` and `/metrics`: a port of 127.0.0.1 such as `7778`, or an address such as `0.0.0.0:7778`',
    shown: 'nowhere',
  },
  strictEngine: {
    isSwitch: true,
    schema: onOff.default(false),
    doc: 'refuse a run whose exact version is unavailable, instead of using another',
  },
  ...SHARED_SETTINGS,
  engineDownloads: { ...SHARED_SETTINGS.engineDownloads, schema: onOff.default(true) },
  caFile: {
    value: '<file>',
    variables: ['GROUNDSTATE_AGENT_CA_FILE', 'GROUNDSTATE_CA_FILE'],
    schema: z.string().optional(),
    doc: "PEM file with the CA of the server's certificate",
    file: { begin: '-----BEGIN CERTIFICATE-----', what: 'PEM certificate' },
  },
  logLevel: {
    value: '<level>',
    variables: ['GROUNDSTATE_AGENT_LOG_LEVEL'],
    foreign: ['TFC_AGENT_LOG_LEVEL'],
    schema: z
      .enum(['trace', 'debug', 'info', 'warn', 'error'], { error: 'it must be debug, info, warn or error' })
      .transform((level) => (level === 'trace' ? 'debug' : level))
      .default('info'),
    doc: 'debug, info, warn or error',
  },
  logJson: {
    isSwitch: true,
    variables: ['GROUNDSTATE_AGENT_LOG_JSON'],
    foreign: ['TFC_AGENT_LOG_JSON'],
    schema: onOff.default(false),
    doc: 'write the log as JSON, one document per line',
  },
} as const satisfies Settings

export type AgentSettings = Values<typeof AGENT_SETTINGS> & { token: string }
/** `notes` are about ineffective variables. */
type SettingsRead = { settings: AgentSettings; notes: string[] } | { problems: string[] }

/** Variables with the token, which are deleted from the environment after it was read. */
export const TOKEN_VARIABLES = ['GROUNDSTATE_AGENT_TOKEN', 'TFC_AGENT_TOKEN'] as const

const KNOWN = new Set<string>([...TOKEN_VARIABLES, ...knownVariables(AGENT_SETTINGS)])
const NOTES: Record<string, string> = { TFC_AGENT_AUTO_UPDATE: ': install a new version with npm, and restart' }

/** Reads the settings of a standalone agent. */
export function readAgentSettings(args: readonly string[], env: NodeJS.ProcessEnv): SettingsRead {
  const { flags, problems } = readFlags(args)
  const work = withoutForeignWork({ flags, env })
  const read = readSettings(AGENT_SETTINGS, { flags, env: { ...env, ...work.env } })
  problems.push(...read.problems)
  const unknown = unknownVariables(env, 'GROUNDSTATE_AGENT_', KNOWN)
  problems.push(...unknown.map((variable) => unknownProblem(variable, KNOWN)))
  const ignored = unknownVariables(env, 'TFC_AGENT_', KNOWN)
  const notes = ignored.map((variable) => `${variable} has no effect here${NOTES[variable] ?? ''}`)
  try {
    const token = readToken(read.values.tokenFile, { flags, env })
    if (problems.length === 0)
      return { settings: { ...read.values, token } as AgentSettings, notes: [...work.notes, ...notes] }
  } catch (error) {
    problems.push(messageOf(error))
  }
  return { problems }
}

/** Removes kinds of work that exist only on HCP Terraform from a list with known ones. */
function withoutForeignWork(sources: Sources): { env: Sources['env']; notes: string[] } {
  const nothing = { env: {}, notes: [] }
  const found = findText('accept', AGENT_SETTINGS.accept, sources)
  if (found?.source !== 'TFC_AGENT_ACCEPT') return nothing
  const words = found.text.split(',').map((word) => word.trim())
  const known = words.filter((word) => WORK_KINDS.some((kind) => kind === word))
  const unknown = words.filter((word) => !known.includes(word))
  if (words.includes('') || known.length === 0 || unknown.length === 0) return nothing
  return {
    env: { TFC_AGENT_ACCEPT: known.join(',') },
    notes: [`${found.source}: ${unknown.join(', ')} not supported here`],
  }
}

const FLAGS: ReadonlyMap<string, { name: string } & Settings[string]> = new Map(
  Object.entries<Settings[string]>(AGENT_SETTINGS).map(([name, setting]) => [
    flagOf(name).slice(2),
    { name, ...setting },
  ]),
)

/** Returns the flags by the names of their settings. */
function readFlags(args: readonly string[]): { flags: Record<string, string>; problems: string[] } {
  const options = Object.fromEntries(
    [...FLAGS].map(([flag, { isSwitch }]) => [flag, { type: isSwitch === true ? 'boolean' : 'string' } as const]),
  )
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const flags: Record<string, string> = {}
  const problems: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      problems.push(`${JSON.stringify(token.value)}: there is no such argument`)
      continue
    }
    const setting = FLAGS.get(token.name)
    // All users of a machine may see the arguments of its processes.
    if (token.name === 'token')
      problems.push('--token: pass it as GROUNDSTATE_AGENT_TOKEN or --token-file, which other users cannot see')
    else if (setting === undefined)
      problems.push(unknownProblem(token.rawName, Object.keys(AGENT_SETTINGS).map(flagOf)))
    else if (setting.isSwitch !== true && (token.value ?? '') === '')
      problems.push(`${token.rawName}: it needs ${setting.value}`)
    else flags[setting.name] = token.value ?? '1'
  }
  return { flags, problems }
}

function readToken(file: string | undefined, { flags, env }: Sources): string {
  const ours = env[TOKEN_VARIABLES[0]] ?? ''
  const isOurs = ours !== '' && flags['tokenFile'] === undefined
  const source = isOurs ? TOKEN_VARIABLES[0] : (file ?? TOKEN_VARIABLES[1])
  const foreign = env[TOKEN_VARIABLES[1]]
  const text = isOurs ? ours : file === undefined ? foreign : readText(`--token-file ${file}`, file)
  const token = (text ?? '').trim()
  if (token === '' && file === undefined) {
    throw new Error(
      'GROUNDSTATE_AGENT_TOKEN: it must be set, here or in a file with --token-file: a token of the agent pool',
    )
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new Error(`${source}: it must contain a token and nothing else`)
}
