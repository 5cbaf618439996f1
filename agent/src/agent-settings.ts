import { readFileSync } from 'node:fs'
import { availableParallelism, homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { WORK_KINDS, type WorkKind } from '@groundstate/contract/agent'
import { z } from 'zod'
import { cpuLimit, memoryLimit } from './limit-settings.ts'

type Setting = {
  /** What stands for the value in the help; a setting without it is a switch. */
  value?: string
  /** Our environment variables; the first that is set counts. */
  own: readonly string[]
  /** Variables of other agents of this kind, which count after ours. */
  theirs?: readonly string[]
  doc: string
  shown?: string
  schema: z.ZodType
}

const SWITCH = { '1': true, true: true, on: true, yes: true, '0': false, false: false, off: false, no: false } as const
const onOff = z
  .string()
  .toLowerCase()
  .refine((text) => text in SWITCH, 'it must be on or off')
  .transform((text) => SWITCH[text as keyof typeof SWITCH])
const wholeNumber = (least: number, most: number) =>
  z.coerce
    .number({ error: 'it must be a whole number' })
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, {
      error: `it must be a whole number from ${least} to ${most}`,
    })
const webAddress = z
  .string()
  .transform((text) => (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`))
  .refine(isWebAddress, 'it must be an address such as https://groundstate.example.com')
  .transform((text) => text.replace(/\/+$/, ''))
const path = z.string()

/** The users of runs can't enter root's home. */
function defaultWorkDir() {
  return process.geteuid?.() === 0 ? '/var/lib/groundstate-agent' : join(homedir(), '.groundstate-agent')
}

/** The settings of an agent, by the names of their flags. `groundstate-agent --help` shows this table. */
export const AGENT_SETTINGS = {
  url: {
    value: '<address>',
    own: ['GROUNDSTATE_URL'],
    theirs: ['TFC_ADDRESS'],
    doc: 'the server; https unless it says otherwise',
    schema: webAddress,
  },
  'token-file': {
    value: '<file>',
    own: ['GROUNDSTATE_AGENT_TOKEN_FILE'],
    doc: 'a file with the token of the agent pool',
    schema: path.optional(),
  },
  name: {
    value: '<name>',
    own: ['GROUNDSTATE_AGENT_NAME', 'GROUNDSTATE_NAME'],
    theirs: ['TFC_AGENT_NAME'],
    doc: 'what the pool calls this agent',
    shown: "the host's name",
    schema: z.string().max(255, 'it must have at most 255 characters').default(hostname),
  },
  concurrency: {
    value: '<number>',
    own: ['GROUNDSTATE_AGENT_CONCURRENCY', 'GROUNDSTATE_CONCURRENCY'],
    doc: 'runs side by side',
    shown: 'half of the cores',
    schema: wholeNumber(1, 256).default(() => Math.max(1, Math.floor(availableParallelism() / 2))),
  },
  accept: {
    value: '<kinds>',
    own: ['GROUNDSTATE_AGENT_ACCEPT'],
    theirs: ['TFC_AGENT_ACCEPT'],
    doc: 'what it takes: plan, apply, task',
    shown: 'plan,apply,task',
    schema: z
      .string()
      .transform((text) => [...new Set(text.split(',').map((word) => word.trim()))])
      .pipe(
        z.array(
          z.enum(WORK_KINDS, { error: `it must name some of ${WORK_KINDS.join(', ')}, with commas between them` }),
        ),
      )
      .default([...WORK_KINDS]),
  },
  single: {
    own: ['GROUNDSTATE_AGENT_SINGLE'],
    theirs: ['TFC_AGENT_SINGLE'],
    doc: 'take one job or run task request, then exit with 0, whatever became of the job',
    schema: onOff.default(false),
  },
  'idle-timeout': {
    value: '<seconds>',
    own: ['GROUNDSTATE_AGENT_IDLE_TIMEOUT'],
    doc: 'exit with 0 after this long without work',
    shown: 'never',
    schema: wholeNumber(1, 2_000_000).optional(),
  },
  'drain-seconds': {
    value: '<seconds>',
    own: ['GROUNDSTATE_AGENT_DRAIN_SECONDS', 'GROUNDSTATE_DRAIN_SECONDS'],
    doc: 'what runs get to finish after SIGTERM',
    shown: '600',
    schema: wholeNumber(0, 2_000_000).default(600),
  },
  'work-dir': {
    value: '<folder>',
    own: ['GROUNDSTATE_AGENT_WORK_DIR', 'GROUNDSTATE_WORK_DIR'],
    theirs: ['TFC_AGENT_DATA_DIR', 'TFC_AGENT_CACHE_DIR'],
    doc: 'working folders and caches, for one agent at a time',
    shown: '~/.groundstate-agent, or /var/lib/groundstate-agent as root',
    schema: path.default(defaultWorkDir),
  },
  'engine-path': {
    value: '<path>',
    own: ['GROUNDSTATE_ENGINE_PATH'],
    doc: 'a terraform or tofu binary, or a folder of them, which comes before the PATH',
    schema: path.optional(),
  },
  'strict-engine': {
    own: ['GROUNDSTATE_STRICT_ENGINE'],
    doc: 'refuse a run whose exact version is not to be had, in place of using another',
    schema: onOff.default(false),
  },
  'engine-downloads': {
    value: 'on|off',
    own: ['GROUNDSTATE_ENGINE_DOWNLOADS'],
    doc: 'download versions that are not here, their signatures checked',
    shown: 'on',
    schema: onOff.default(true),
  },
  'terraform-mirror': {
    value: '<address>',
    own: ['GROUNDSTATE_TERRAFORM_MIRROR'],
    doc: 'where Terraform is downloaded from',
    shown: 'https://releases.hashicorp.com',
    schema: webAddress.default('https://releases.hashicorp.com'),
  },
  'opentofu-mirror': {
    value: '<address>',
    own: ['GROUNDSTATE_OPENTOFU_MIRROR'],
    doc: 'where OpenTofu is downloaded from',
    shown: 'its releases on github.com',
    schema: webAddress.default('https://github.com/opentofu/opentofu/releases/download'),
  },
  'engine-key-file': {
    value: '<file>',
    own: ['GROUNDSTATE_ENGINE_KEY_FILE'],
    doc: 'PGP public keys that may have signed downloads, beside those of HashiCorp and OpenTofu',
    schema: path.optional(),
  },
  isolation: {
    value: 'auto|user|off',
    own: ['GROUNDSTATE_ISOLATION'],
    doc: "user: each run as a user of its own; off: as the agent's; auto: where it can be",
    shown: 'auto',
    schema: z.enum(['auto', 'user', 'off'], { error: 'it must be auto, user or off' }).default('auto'),
  },
  'first-run-user': {
    value: '<id>',
    own: ['GROUNDSTATE_FIRST_RUN_USER'],
    doc: 'first of the 65536 user ids that agents of this machine share out',
    shown: '1900000000',
    schema: wholeNumber(1_000, 2 ** 31 - 65_537).optional(),
  },
  sandbox: {
    own: ['GROUNDSTATE_SANDBOX'],
    doc: 'runs in a sandbox of bubblewrap, which must be installed',
    schema: onOff.default(false),
  },
  'memory-limit': {
    value: '<size>',
    own: ['GROUNDSTATE_MEMORY_LIMIT'],
    doc: 'memory that a program of a run may take, such as 2g',
    schema: memoryLimit.optional(),
  },
  'cpu-limit': {
    value: '<number>',
    own: ['GROUNDSTATE_CPU_LIMIT'],
    doc: 'processors that a program of a run may take, such as 1.5',
    schema: cpuLimit.optional(),
  },
  'pids-limit': {
    value: '<number>',
    own: ['GROUNDSTATE_PIDS_LIMIT'],
    doc: 'processes and threads of a run',
    shown: '4096 where runs have users of their own',
    schema: wholeNumber(64, 4_194_304).optional(),
  },
  hooks: {
    value: '<folder>',
    own: ['GROUNDSTATE_HOOKS'],
    doc: 'programs to run: pre-plan, post-plan, pre-apply, post-apply',
    schema: path.optional(),
  },
  'ca-file': {
    value: '<file>',
    own: ['GROUNDSTATE_AGENT_CA_FILE', 'GROUNDSTATE_CA_FILE'],
    doc: "a PEM file of the authority behind the server's certificate",
    schema: path.optional(),
  },
  'log-level': {
    value: '<level>',
    own: ['GROUNDSTATE_AGENT_LOG_LEVEL'],
    theirs: ['TFC_AGENT_LOG_LEVEL'],
    doc: 'debug, info, warn or error',
    shown: 'info',
    schema: z
      .enum(['trace', 'debug', 'info', 'warn', 'error'], { error: 'it must be debug, info, warn or error' })
      .transform((level) => (level === 'trace' ? 'debug' : level))
      .default('info'),
  },
  'log-json': {
    own: ['GROUNDSTATE_AGENT_LOG_JSON'],
    theirs: ['TFC_AGENT_LOG_JSON'],
    doc: 'write the log as one JSON document a line',
    schema: onOff.default(false),
  },
} as const satisfies Record<string, Setting>

type Name = keyof typeof AGENT_SETTINGS
type Values = { [N in Name]: z.infer<(typeof AGENT_SETTINGS)[N]['schema']> }
export type AgentSettings = Omit<Values, 'accept'> & { accept: WorkKind[]; token: string }
/** What was read: the settings, and notes about variables that have no effect; or what is wrong with them. */
export type SettingsRead = { settings: AgentSettings; notes: string[] } | { problems: string[] }

/** Both hold the token, and go from the environment of the process as soon as they were read. */
export const TOKEN_VARIABLES = ['GROUNDSTATE_AGENT_TOKEN', 'TFC_AGENT_TOKEN'] as const

/**
 * Reads the settings: a flag wins over a variable of ours, that over one of another agent, that over the default. An empty
 * variable counts as not set.
 */
export function readAgentSettings(args: readonly string[], env: NodeJS.ProcessEnv): SettingsRead {
  const { flags, problems } = readFlags(args)
  const notes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(AGENT_SETTINGS)) {
    const given = find(name, { flags, env })
    const text = given === undefined ? undefined : relaxed(name, given, notes)
    const result = setting.schema.safeParse(text)
    if (result.success) values[name] = result.data
    else if (given === undefined)
      problems.push(`${setting.own[0]}: it must be set, here or by --${name}: ${setting.doc}`)
    else problems.push(`${given.source} ${JSON.stringify(given.text)}: ${result.error.issues[0]?.message}`)
  }
  for (const variable of Object.keys(env)) {
    if (KNOWN.has(variable) || env[variable] === '') continue
    if (variable.startsWith('GROUNDSTATE_AGENT_')) problems.push(`${variable}: there is no such setting`)
    if (variable.startsWith('TFC_AGENT_')) notes.push(`${variable} has no effect here${NOTES[variable] ?? ''}`)
  }
  try {
    values['token'] = readToken(values, { flags, env })
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
  }
  for (const name of ['ca-file', 'engine-key-file'] as const) {
    const file = values[name]
    if (typeof file === 'string') problems.push(...fileProblems(name, file))
  }
  return problems.length > 0 ? { problems } : { settings: values as AgentSettings, notes }
}

const KNOWN = new Set<string>([
  ...TOKEN_VARIABLES,
  ...Object.values<Setting>(AGENT_SETTINGS).flatMap(({ own, theirs }) => [...own, ...(theirs ?? [])]),
])
const NOTES: Record<string, string> = {
  TFC_AGENT_AUTO_UPDATE: ': install a new version with npm, and restart it',
}

type Given = { text: string; source: string; foreign: boolean }
type Sources = { flags: Record<string, string>; env: NodeJS.ProcessEnv }

function find(name: string, { flags, env }: Sources): Given | undefined {
  const { own, theirs = [] } = (AGENT_SETTINGS as Record<string, Setting>)[name] ?? { own: [] }
  const flag = flags[name]
  if (flag !== undefined) return { text: flag, source: `--${name}`, foreign: false }
  const variable = [...own, ...theirs].find((variable) => (env[variable] ?? '') !== '')
  if (variable === undefined) return undefined
  return { text: env[variable] ?? '', source: variable, foreign: theirs.includes(variable) }
}

/** Other agents take kinds of work that do not exist here; among others, these are left out. */
function relaxed(name: string, { text, source, foreign }: Given, notes: string[]): string {
  if (name !== 'accept' || !foreign) return text
  const words = text.split(',').map((word) => word.trim())
  if (words.includes('')) return text
  const known = words.filter((word) => WORK_KINDS.some((kind) => kind === word))
  const unknown = words.filter((word) => !known.includes(word))
  if (known.length === 0 || unknown.length === 0) return text
  notes.push(`${source}: there is no ${unknown.join(', ')} here`)
  return known.join(',')
}

function readFlags(args: readonly string[]): { flags: Record<string, string>; problems: string[] } {
  const options = Object.fromEntries(
    Object.entries<Setting>(AGENT_SETTINGS).map(([name, { value }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string' } as const,
    ]),
  )
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const flags: Record<string, string> = {}
  const problems: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    const problem = problemOf(token)
    if (problem !== undefined) problems.push(problem)
    else if (token.kind === 'option') flags[token.name] = token.value ?? '1'
  }
  return { flags, problems }
}

type Token =
  | { kind: 'option'; name: string; rawName: string; value: string | undefined }
  | { kind: 'positional'; value: string }

function problemOf(token: Token): string | undefined {
  if (token.kind === 'positional') return `${JSON.stringify(token.value)}: there is no such argument`
  // Everybody on a machine may see the arguments of its processes.
  if (token.name === 'token')
    return '--token: give it by GROUNDSTATE_AGENT_TOKEN or by --token-file, where nobody else sees it'
  const setting = (AGENT_SETTINGS as Record<string, Setting>)[token.name]
  if (setting === undefined) return `${token.rawName}: there is no such setting`
  if (setting.value !== undefined && (token.value ?? '') === '') return `${token.rawName}: it needs ${setting.value}`
  return undefined
}

function readToken(values: Partial<Values>, { flags, env }: Sources): string {
  const file = values['token-file']
  const ours = env[TOKEN_VARIABLES[0]] ?? ''
  const source = flags['token-file'] === undefined && ours !== '' ? TOKEN_VARIABLES[0] : file
  const text =
    source === TOKEN_VARIABLES[0]
      ? ours
      : file === undefined
        ? (env[TOKEN_VARIABLES[1]] ?? '')
        : contentOf('token-file', file)
  const token = text.trim()
  if (token === '' && file === undefined) {
    throw new Error(
      'GROUNDSTATE_AGENT_TOKEN: it must be set, here or in the file that --token-file names: a token of the agent pool',
    )
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new Error(`${source ?? TOKEN_VARIABLES[1]}: it must hold the text of a token and nothing else`)
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
}

function contentOf(name: Name, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw new Error(`--${name} ${file}: ${UNREADABLE[code] ?? String(error)}`, { cause: error })
  }
}

const FORMATS = {
  'ca-file': { begin: '-----BEGIN CERTIFICATE-----', what: 'certificate in the PEM format' },
  'engine-key-file': { begin: '-----BEGIN PGP PUBLIC KEY BLOCK-----', what: 'PGP public key in the armored format' },
} as const satisfies Partial<Record<Name, { begin: string; what: string }>>

function fileProblems(name: keyof typeof FORMATS, file: string): string[] {
  const { begin, what } = FORMATS[name]
  try {
    return contentOf(name, file).includes(begin) ? [] : [`--${name} ${file}: it holds no ${what}`]
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, search, hash } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && search === '' && hash === ''
}
