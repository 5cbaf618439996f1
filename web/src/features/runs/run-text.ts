import type { Stage } from '@groundstate/contract/run-tasks'
import type { Run } from './run.ts'

/** Default message of the API, which names another product. */
const DEFAULT_MESSAGE = 'Queued manually via the Terraform Enterprise API'

export function runTitle({ id, message }: { id: string; message: string }) {
  const [first = ''] = message.trim().split('\n', 1)
  if (first === DEFAULT_MESSAGE) return 'Queued manually'
  return first === '' ? id : first
}

export function messageBody(message: string) {
  return message.trim().split('\n').slice(1).join('\n').trim()
}

export const STAGE_TITLES = {
  pre_plan: 'Pre-plan tasks',
  post_plan: 'Post-plan tasks',
  pre_apply: 'Pre-apply tasks',
  post_apply: 'Post-apply tasks',
} as const satisfies Record<Stage, string>

/** The options of a run that differ from the defaults, without `is-destroy`, which has its own banner. */
export function runOptions(run: Run['attributes']): { text: string; about: string; values: readonly string[] }[] {
  const flags = [
    [run['plan-only'], 'plan only', 'Can’t be applied.'],
    [run['save-plan'], 'saved plan', 'Can be applied later and does not block other runs.'],
    [run['auto-apply'], 'auto-apply', 'Applies automatically once the plan and its mandatory tasks succeed.'],
    [run['refresh-only'], 'refresh only', 'Updates the state to match the infrastructure.'],
    [!run.refresh, 'no refresh', 'Plans without refreshing the state first.'],
    [run['allow-empty-apply'], 'empty apply allowed', 'A plan without changes can be applied.'],
    [run['allow-config-generation'], 'generates configuration', 'Generates configuration for imported resources.'],
    [run['debugging-mode'], 'debugging mode', 'The engine writes detailed logs.'],
  ] as const
  const variables = run.variables.map(({ key, value }) => `${key} = ${value}`)
  const lists = [
    [run['target-addrs'], 'targets', 'Only these resources and their dependencies.'],
    [run['replace-addrs'], 'replaces', 'Replaced even if unchanged.'],
    [variables, 'run variables', 'Only for this run; they override all others.'],
  ] as const
  return [
    ...flags.filter(([isSet]) => isSet).map(([, text, about]) => ({ text, about, values: [] })),
    ...lists.filter(([values]) => values.length > 0).map(([values, text, about]) => ({ text, about, values })),
  ]
}

/** Whether a reason only says that the engine failed; the details are in the log. */
export function isGenericReason(reason: string) {
  return /ended with (?:exit code \d+|an error)$/.test(reason)
}

/** Splits a server message at the run IDs and times it contains. */
export function textSegments(text: string): { kind: 'text' | 'run' | 'time'; text: string }[] {
  return text
    .split(/(run-[A-Za-z0-9]{8,}|\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((segment, index) => ({
      kind: index % 2 === 0 ? ('text' as const) : segment.startsWith('run-') ? ('run' as const) : ('time' as const),
      text: segment,
    }))
    .filter((segment) => segment.text !== '')
}
