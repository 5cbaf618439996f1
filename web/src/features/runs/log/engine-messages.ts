import { isWideNumber, parseExact } from '@groundstate/contract/exact-json'
import { type Diagnostic, diagnosticLines } from './diagnostic.ts'

const RESET = '\u001b[0m'
const bold = (text: string) => `\u001b[1m${text}${RESET}`
const green = (text: string) => `\u001b[1m\u001b[32m${text}${RESET}`

/** A line of the engine's JSON output; see "machine-readable UI" in the engine's documentation. */
export type Message = {
  '@message': string
  '@timestamp'?: string
  type?: string
  diagnostic?: Diagnostic
  hook?: {
    resource?: { addr: string }
    action?: string
    elapsed_seconds?: number
    provisioner?: string
    output?: string
  }
  change?: { resource?: { addr: string }; previous_resource?: { addr: string }; action?: string }
  outputs?: Record<string, { sensitive: boolean; action?: string; value?: unknown; type?: unknown }>
}

/** Parses a log line; undefined if it is not a JSON message. */
export function parseMessage(line: string): Message | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const message = parseExact(line) as Partial<Message> | null
    return typeof message?.['@message'] === 'string' ? (message as Message) : undefined
  } catch {
    // Provisioners may print lines that only resemble JSON.
    return undefined
  }
}

const noLines = () => []
const plainLines = (message: Message) => message['@message'].split('\n')
const boldLines = (message: Message) => plainLines(message).map(bold)

/** Renders a message as the engine does on a terminal; no lines for messages that it does not print there. */
export function messageLines(message: Message): readonly string[] {
  const render = message.type === undefined ? undefined : RENDERERS[message.type]
  return render?.(message) ?? plainLines(message)
}

const RENDERERS: Record<string, (message: Message) => readonly string[] | undefined> = {
  // The agent prints the version at the start of the log.
  version: noLines,
  diagnostic: ({ diagnostic }) => diagnostic && diagnosticLines(diagnostic),
  planned_change: (message) => changeLines(message, PLANNED),
  resource_drift: (message) => changeLines(message, DRIFTED),
  change_summary: summaryLines,
  outputs: ({ outputs }) => outputs && outputLines(outputs),
  refresh_start: boldLines,
  refresh_complete: noLines,
  apply_start: boldLines,
  apply_progress: boldLines,
  apply_complete: boldLines,
  // A diagnostic with the reason follows.
  apply_errored: noLines,
  provision_start: boldLines,
  provision_progress: ({ hook }) =>
    hook?.resource && [`${bold(`${hook.resource.addr} (${hook.provisioner ?? ''}):`)} ${hook.output ?? ''}`],
  provision_complete: noLines,
  provision_errored: noLines,
}

const PLANNED: Record<string, string> = {
  create: 'will be created',
  read: 'will be read during apply',
  update: 'will be updated in-place',
  delete: 'will be destroyed',
  replace: 'must be replaced',
  move: 'has moved',
  import: 'will be imported',
  remove: 'will no longer be managed',
  forget: 'will no longer be managed',
}
const DRIFTED: Record<string, string> = { update: 'has changed', delete: 'has been deleted', move: 'has moved' }

function changeLines({ change }: Message, texts: Record<string, string>) {
  const address = change?.resource?.addr
  if (change === undefined || address === undefined) return undefined
  const { action = '', previous_resource: previous } = change
  const text = texts[action] ?? action
  const styled = action === 'delete' || action === 'replace' ? `\u001b[1m\u001b[31m${text}${RESET}` : text
  return [`${bold(`  # ${address}`)} ${styled}${previous ? ` (moved from ${previous.addr})` : ''}`]
}

function summaryLines(message: Message) {
  const text = message['@message']
  return ['', text.startsWith('Plan:') ? `${bold('Plan:')}${text.slice('Plan:'.length)}` : green(text)]
}

const SIGNS: Record<string, string> = {
  create: '\u001b[32m+\u001b[0m',
  update: '\u001b[33m~\u001b[0m',
  delete: '\u001b[31m-\u001b[0m',
}

function outputLines(outputs: NonNullable<Message['outputs']>) {
  const entries = Object.entries(outputs)
  if (entries.length === 0) return []
  if (entries.some(([, { action }]) => action !== undefined)) {
    const changed = entries.filter(([, { action }]) => action !== 'noop' && action !== 'no-op')
    if (changed.length === 0) return []
    return ['', 'Changes to Outputs:', ...changed.map(([name, { action = '' }]) => `  ${SIGNS[action] ?? ' '} ${name}`)]
  }
  const width = Math.max(...entries.map(([name]) => name.length))
  const lines = entries.flatMap(([name, { sensitive, value, type }]) => {
    const text = sensitive ? '<sensitive>' : hclText(value, type)
    return `${name.padEnd(width)} = ${text}`.split('\n')
  })
  return ['', green('Outputs:'), '', ...lines]
}

type Values = Record<string | number, unknown>
const CONVERSIONS: Record<string, string> = { list: 'tolist', set: 'toset', map: 'tomap' }

/** Formats a value as the engine does; `type` is in JSON notation, such as `["list", "string"]`. */
function hclText(value: unknown, type?: unknown, indent = ''): string {
  if (value === null || value === undefined)
    return typeof type === 'string' && type !== 'dynamic' ? `to${type}(null)` : 'null'
  if (isWideNumber(value)) return value.digits
  if (typeof value === 'string') return stringText(value, indent)
  if (typeof value !== 'object') return JSON.stringify(value)
  const [kind, inner] = Array.isArray(type) ? (type as unknown[]) : []
  const inside = `${indent}  `
  const hasMemberTypes = kind === 'tuple' || kind === 'object'
  const typeOf = (key: string | number) => (hasMemberTypes ? (inner as Values | undefined)?.[key] : inner)
  const member = (item: unknown, key: string | number) => hclText(item, typeOf(key), inside)
  const lines = Array.isArray(value)
    ? value.map((item: unknown, index) => `${inside}${member(item, index)},`)
    : Object.entries(value)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, item]) => `${inside}${JSON.stringify(key)} = ${member(item, key)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const body = lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`
  const convert = CONVERSIONS[String(kind)]
  return convert === undefined ? body : `${convert}(${body})`
}

function stringText(value: string, indent: string) {
  if (!value.includes('\n')) return JSON.stringify(value)
  const lines = value.replace(/\n$/, '').split('\n')
  return [indent === '' ? '<<EOT' : '<<-EOT', ...[...lines, 'EOT'].map((line) => `${indent}${line}`)].join('\n')
}
