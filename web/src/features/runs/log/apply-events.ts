import type { Message } from './structured-line.ts'

/** What the engine says about one resource while it applies. */
export type ApplyEvent = {
  address: string
  kind: 'started' | 'progress' | 'done' | 'failed'
  action: ApplyAction
  /** How long the step has taken. */
  seconds?: number | undefined
  /** When it was said, in ms. */
  at: number
}
export type ApplyAction = 'create' | 'update' | 'destroy' | 'read' | 'import' | 'other'

const ACTIONS: Record<string, ApplyAction> = {
  create: 'create',
  update: 'update',
  delete: 'destroy',
  read: 'read',
  Creating: 'create',
  Modifying: 'update',
  Destroying: 'destroy',
  Reading: 'read',
  Importing: 'import',
  creating: 'create',
  modifying: 'update',
  destroying: 'destroy',
  reading: 'read',
  Creation: 'create',
  Modifications: 'update',
  Destruction: 'destroy',
  Read: 'read',
  Import: 'import',
}
const KINDS: Record<string, ApplyEvent['kind']> = {
  apply_start: 'started',
  apply_progress: 'progress',
  apply_complete: 'done',
  apply_errored: 'failed',
}

const BEGINS = /^(.+): (Creating|Modifying|Destroying|Reading|Importing)\.\.\.(?: \[|$)/
const GOES_ON = /^(.+): Still (creating|modifying|destroying|reading)\.\.\. \[(?:.*, )?(\S+) elapsed\]$/
const ENDS = /^(.+): (Creation|Modifications|Destruction|Read|Import) complete(?: after (\S+))?/

/** What a message of the engine, or a line of its text, says about the apply of a resource; text has no times of its own. */
export function applyEventOf(said: Message | string, heardAt: number): ApplyEvent | undefined {
  if (typeof said === 'string') return textEvent(said, heardAt)
  const kind = said.type === undefined ? undefined : KINDS[said.type]
  const address = said.hook?.resource?.addr
  if (kind === undefined || address === undefined) return undefined
  const at = Date.parse(said['@timestamp'] ?? '')
  return {
    address,
    kind,
    action: ACTIONS[said.hook?.action ?? ''] ?? 'other',
    seconds: said.hook?.elapsed_seconds,
    at: Number.isNaN(at) ? heardAt : at,
  }
}

function textEvent(line: string, at: number): ApplyEvent | undefined {
  // Most lines of a long log are something else.
  if (!line.includes('...') && !line.includes(' complete')) return undefined
  const event = (kind: ApplyEvent['kind'], match: RegExpExecArray | null) =>
    match?.[1] !== undefined && match[2] !== undefined
      ? { address: bareAddress(match[1]), kind, action: ACTIONS[match[2]] ?? 'other', seconds: secondsOf(match[3]), at }
      : undefined
  return event('started', BEGINS.exec(line)) ?? event('progress', GOES_ON.exec(line)) ?? event('done', ENDS.exec(line))
}

/** `x.y (deposed object 1a2b)` → `x.y`. */
function bareAddress(text: string) {
  return text.replace(/ \(deposed object \w+\)$/, '')
}

/** "1m10s", "00m10s" or "3s" in seconds. */
function secondsOf(text: string | undefined) {
  const [, h, m, s] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text ?? '') ?? []
  if (h === undefined && m === undefined && s === undefined) return undefined
  return Number(h ?? 0) * 3600 + Number(m ?? 0) * 60 + Number(s ?? 0)
}
