import type { Message } from './engine-messages.ts'

export type ApplyEvent = {
  address: string
  kind: 'started' | 'progress' | 'done' | 'failed'
  action: ApplyAction
  /** Elapsed time of the operation, in seconds. */
  seconds?: number | undefined
  /** Time of the event, in ms. */
  at: number
}
type ApplyAction = 'create' | 'update' | 'destroy' | 'read' | 'import' | 'other'

/** JSON output: actions and event types. */
const ACTIONS: Record<string, ApplyAction> = { create: 'create', update: 'update', delete: 'destroy', read: 'read' }
const KINDS: Record<string, ApplyEvent['kind']> = {
  apply_start: 'started',
  apply_progress: 'progress',
  apply_complete: 'done',
  apply_errored: 'failed',
}

/** Text output: the lines of each kind, and the actions of the words in them. */
const TEXT_PATTERNS = {
  started: /^(.+): (Creating|Modifying|Destroying|Reading|Importing)\.\.\.(?: \[|$)/,
  progress: /^(.+): Still (creating|modifying|destroying|reading)\.\.\. \[(?:.*, )?(\S+) elapsed\]$/,
  done: /^(.+): (Creation|Modifications|Destruction|Read|Import) complete(?: after (\S+))?/,
} as const
const TEXT_ACTIONS: readonly (readonly [prefix: string, action: ApplyAction])[] = [
  ['creat', 'create'],
  ['modif', 'update'],
  ['destr', 'destroy'],
  ['read', 'read'],
  ['import', 'import'],
]

/** Parses a JSON message or a line of text; a plain line has no timestamp and gets `readAt`, in ms. */
export function parseApplyEvent(source: Message | string, readAt: number): ApplyEvent | undefined {
  if (typeof source === 'string') return parseText(source, readAt)
  const kind = source.type === undefined ? undefined : KINDS[source.type]
  const address = source.hook?.resource?.addr
  if (kind === undefined || address === undefined) return undefined
  const at = Date.parse(source['@timestamp'] ?? '')
  return {
    address,
    kind,
    action: ACTIONS[source.hook?.action ?? ''] ?? 'other',
    seconds: source.hook?.elapsed_seconds,
    at: Number.isNaN(at) ? readAt : at,
  }
}

function parseText(line: string, at: number): ApplyEvent | undefined {
  // Skips most lines of a long log.
  if (!line.includes('...') && !line.includes(' complete')) return undefined
  for (const kind of ['started', 'progress', 'done'] as const) {
    const [, address, word, elapsed] = TEXT_PATTERNS[kind].exec(line) ?? []
    if (address === undefined || word === undefined) continue
    const action = TEXT_ACTIONS.find(([prefix]) => word.toLowerCase().startsWith(prefix))?.[1] ?? 'other'
    return {
      address: address.replace(/ \(deposed object \w+\)$/, ''),
      kind,
      action,
      seconds: parseSeconds(elapsed),
      at,
    }
  }
  return undefined
}

/** "1m10s", "00m10s" or "3s" in seconds. */
function parseSeconds(text: string | undefined) {
  const [, h, m, s] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text ?? '') ?? []
  if (h === undefined && m === undefined && s === undefined) return undefined
  return Number(h ?? 0) * 3600 + Number(m ?? 0) * 60 + Number(s ?? 0)
}
