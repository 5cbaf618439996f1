import type { Stage } from '@groundstate/contract/run-tasks'
import type { Run } from './run.ts'

export const STAGE_TITLES = {
  pre_plan: 'Pre-plan tasks',
  post_plan: 'Post-plan tasks',
  pre_apply: 'Pre-apply tasks',
  post_apply: 'Post-apply tasks',
} as const satisfies Record<Stage, string>

/** From where a run was started. */
export const SOURCES = {
  'tfe-ui': 'from the web application',
  'tfe-api': 'through the API',
  'tfe-configuration-version': 'by the upload of a configuration',
  'tfe-run-trigger': 'by a run trigger',
  terraform: 'from the command line',
  'terraform+cloud': 'from the command line',
} as const satisfies Record<Run['attributes']['source'], string>

type Options = Pick<
  Run['attributes'],
  | 'plan-only'
  | 'save-plan'
  | 'auto-apply'
  | 'refresh'
  | 'refresh-only'
  | 'allow-empty-apply'
  | 'allow-config-generation'
  | 'debugging-mode'
  | 'target-addrs'
  | 'replace-addrs'
  | 'variables'
>
export type RunOption = { text: string; about: string; values: readonly string[] }

/** The options of a run that differ from what a run does by default; a destroy is said elsewhere, louder. */
export function runOptions(run: Options): RunOption[] {
  const flags: readonly (readonly [boolean, string, string])[] = [
    [run['plan-only'], 'plan only', 'It plans, and can never be applied.'],
    [run['save-plan'], 'saved plan', 'The plan is kept to be applied later, and holds up no other run.'],
    [run['auto-apply'], 'auto-apply', 'It applies by itself once the plan and its mandatory tasks have succeeded.'],
    [run['refresh-only'], 'refresh only', 'It only brings the state up to date with what there is.'],
    [!run.refresh, 'without refresh', 'The plan trusts the state, and does not look at what there is.'],
    [run['allow-empty-apply'], 'empty apply allowed', 'A plan without changes can be applied too.'],
    [run['allow-config-generation'], 'generates configuration', 'The plan may write configuration for imports.'],
    [run['debugging-mode'], 'debug log', 'The engine logs in full detail.'],
  ]
  const lists: readonly (readonly [readonly string[], string, string])[] = [
    [run['target-addrs'], 'targets', 'Only these and what they depend on.'],
    [run['replace-addrs'], 'replaces', 'These are made anew even if they are in order.'],
    [
      run.variables.map(({ key, value }) => `${key} = ${value}`),
      'variables of this run',
      'They count for this run alone, before all others.',
    ],
  ]
  return [
    ...flags.filter(([isSet]) => isSet).map(([, text, about]) => ({ text, about, values: [] })),
    ...lists.filter(([values]) => values.length > 0).map(([values, text, about]) => ({ text, about, values })),
  ]
}

export type TextChunk = { kind: 'text' | 'run' | 'time'; text: string }

/** A text of the server in pieces, so that the runs that it names become links and its times those of the reader. */
export function chunksOf(text: string): TextChunk[] {
  return text
    .split(/(run-[A-Za-z0-9]{8,}|\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((chunk, index) => ({
      kind: index % 2 === 0 ? ('text' as const) : chunk.startsWith('run-') ? ('run' as const) : ('time' as const),
      text: chunk,
    }))
    .filter(({ text: own }) => own !== '')
}
