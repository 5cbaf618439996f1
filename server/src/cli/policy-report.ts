import type { policyTrialRunSchema, policyTrialSchema } from '@groundstate/contract/policy-trials'
import type { Written } from '@groundstate/contract/responses'

type Trial = Written<typeof policyTrialSchema>
type Result = Written<typeof policyTrialRunSchema>
type Outcome = Result['attributes']['outcomes'][number]

/** The results of a trial as text: a line for each run, with the policies that did not pass, and a summary. */
export function trialReport(trial: Trial, results: readonly Result[]): string {
  const lines = results.flatMap(resultLines)
  return `${[...lines, ...(lines.length > 0 ? [''] : []), ...summary(trial)].join('\n')}\n`
}

function resultLines({ attributes, relationships }: Result): string[] {
  const { status, error, outcomes } = attributes
  const [title = ''] = attributes['run-message'].split('\n')
  const run = relationships.run.data?.id ?? ''
  const created = new Date(attributes['run-created-at']).toISOString().slice(0, 10)
  const head = [status.padEnd('stopped'.length), run, created, attributes['workspace-name'], title].join('  ')
  return [head, ...(error === null ? [] : [`    ${error}`]), ...outcomes.flatMap(outcomeLines)].map(printable)
}

function outcomeLines({ policy_name: name, enforcement_level: level, status, error, output, omitted }: Outcome) {
  return [
    `    ${level} policy ${name} ${status}`,
    ...(error === null ? [] : [`        ${error}`]),
    ...output.map(({ print }) => `        ${print}`),
    ...(omitted > 0 ? [`        and ${omitted} more`] : []),
  ]
}

function summary({ attributes }: Trial): string[] {
  const { total, stopped, warned, passed, errored } = attributes['run-counts']
  const { unreadable, 'without-plan': planless, older } = attributes['omitted-runs']
  const parts = [
    `${stopped} would have been stopped`,
    `${warned} warned`,
    `${passed} passed`,
    ...(errored > 0 ? [`${errored} could not be evaluated`] : []),
  ]
  const omitted = [
    unreadable > 0 && `${unreadable} whose plan you may not read`,
    planless > 0 && `${planless} without a plan in JSON`,
    older > 0 && `${older} older ones`,
  ].filter((text) => text !== false)
  return [
    `${total} ${total === 1 ? 'run' : 'runs'}: ${parts.join(', ')}`,
    ...(omitted.length === 0 ? [] : [`left out: ${omitted.join(', ')}`]),
  ]
}

/** Without control characters, which a terminal would execute. Lines of one text are indented alike. */
function printable(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? ''
  // oxlint-disable-next-line no-control-regex -- these are the characters to remove
  return text.replaceAll('\n', `\n${indent}`).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}
