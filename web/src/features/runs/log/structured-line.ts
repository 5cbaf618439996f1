import { parseExact } from '@groundstate/contract/exact-json'
import { diagnosticLines } from './diagnostic-text.ts'
import type { Diagnostic } from './diagnostic.ts'
import { hclText } from './hcl-text.ts'

const RESET = '\u001b[0m'
const bold = (text: string) => `\u001b[1m${text}${RESET}`
const green = (text: string) => `\u001b[1m\u001b[32m${text}${RESET}`

/** A line of the engine's JSON output; see "machine-readable UI" in the engine's documentation. */
export type Message = {
  '@message': string
  '@level'?: string
  '@timestamp'?: string
  type?: string
  diagnostic?: Diagnostic
  hook?: Hook
  change?: { resource?: { addr: string }; previous_resource?: { addr: string }; action?: string; reason?: string }
  changes?: { add: number; change: number; remove: number; import?: number; operation: string }
  outputs?: Record<string, { sensitive: boolean; action?: string; value?: unknown; type?: unknown }>
}
export type Hook = {
  resource?: { addr: string }
  action?: string
  id_key?: string
  id_value?: string
  elapsed_seconds?: number
  provisioner?: string
  output?: string
}

/** The message in a line of a log; undefined when the line is no message. */
export function messageOf(line: string): Message | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const message = parseExact(line) as Partial<Message> | null
    return typeof message?.['@message'] === 'string' ? (message as Message) : undefined
  } catch {
    // Programs that the engine starts may print what only looks like JSON.
    return undefined
  }
}

/** The lines in which the engine says the same on a terminal; none for what it keeps to itself there. */
export function messageLines(message: Message): readonly string[] {
  const render = message.type === undefined ? undefined : RENDER[message.type]
  return render?.(message) ?? plainLines(message)
}

const RENDER: Record<string, (message: Message) => readonly string[] | undefined> = {
  // The agent has said it at the beginning.
  version: nothing,
  diagnostic: ({ diagnostic }) => diagnostic && diagnosticLines(diagnostic),
  planned_change: (message) => changeLines(message, PLANNED),
  resource_drift: (message) => changeLines(message, DRIFTED),
  change_summary: summaryLines,
  outputs: ({ outputs }) => outputs && outputLines(outputs),
  refresh_start: boldLines,
  refresh_complete: nothing,
  apply_start: boldLines,
  apply_progress: boldLines,
  apply_complete: boldLines,
  // The diagnostic that follows says what went wrong.
  apply_errored: nothing,
  provision_start: boldLines,
  provision_progress: ({ hook }) =>
    hook?.resource && [`${bold(`${hook.resource.addr} (${hook.provisioner ?? ''}):`)} ${hook.output ?? ''}`],
  provision_complete: nothing,
  provision_errored: nothing,
}

function nothing() {
  return []
}

function plainLines(message: Message) {
  return message['@message'].split('\n')
}

function boldLines(message: Message) {
  return plainLines(message).map(bold)
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
const DRIFTED: Record<string, string> = {
  update: 'has changed',
  delete: 'has been deleted',
  move: 'has moved',
}
const DESTROYS = new Set(['delete', 'replace'])

function changeLines({ change }: Message, words: Record<string, string>) {
  const address = change?.resource?.addr
  if (change === undefined || address === undefined) return undefined
  const { action = '', previous_resource: previous } = change
  const said = words[action] ?? action
  const look = DESTROYS.has(action) ? `\u001b[1m\u001b[31m${said}${RESET}` : said
  const from = previous ? ` (moved from ${previous.addr})` : ''
  return [`${bold(`  # ${address}`)} ${look}${from}`]
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
  const width = Math.max(...entries.map(([name]) => name.length))
  if (entries.some(([, { action }]) => action !== undefined)) {
    const changed = entries.filter(([, { action }]) => action !== 'noop' && action !== 'no-op')
    if (changed.length === 0) return []
    return ['', 'Changes to Outputs:', ...changed.map(([name, { action = '' }]) => `  ${SIGNS[action] ?? ' '} ${name}`)]
  }
  const lines = entries.flatMap(([name, { sensitive, value, type }]) => {
    const text = sensitive ? '<sensitive>' : hclText(value, type)
    return `${name.padEnd(width)} = ${text}`.split('\n')
  })
  return ['', green('Outputs:'), '', ...lines]
}
