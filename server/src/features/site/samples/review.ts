import type { TaskOutcome } from '@groundstate/contract/run-tasks'
import { z } from 'zod'

/** What the receiver reads of a plan in JSON; everything else in it is ignored. */
export const planJson = z.object({
  resource_changes: z
    .array(z.object({ address: z.string(), change: z.object({ actions: z.array(z.string()), after: z.unknown() }) }))
    .default([]),
  output_changes: z.record(z.string(), z.object({ after_sensitive: z.unknown() })).default({}),
})
export type PlanJson = z.infer<typeof planJson>

export type Review = { message: string; outcomes: TaskOutcome[] }
type Level = NonNullable<NonNullable<TaskOutcome['tags']>[string]>[number]['level']

/** What the receiver says about a plan: what it does, and findings about what it destroys, opens and exposes. */
export function reviewOf(plan: PlanJson, url: string): Review {
  const outcomes = [countChanges(plan), findDeletions(plan), findOpenRules(plan), findSensitiveOutputs(plan)]
  const findings = outcomes.filter(({ tags }) =>
    tags?.['severity']?.some(({ level }) => level === 'error' || level === 'warning'),
  )
  const { create, update, replace, destroy } = changesByKind(plan)
  const counts = `${create.length} to create, ${update.length} to change, ${replace.length} to replace, ${destroy.length} to destroy`
  const found = findings.length === 0 ? 'nothing to look at' : `${findings.length} to look at`
  return { message: `${counts}; ${found}`, outcomes: outcomes.map((outcome) => ({ ...outcome, url })) }
}

function changesByKind({ resource_changes: changes }: PlanJson) {
  const addresses = (isKind: (actions: readonly string[]) => boolean) =>
    changes.filter(({ change }) => isKind(change.actions)).map(({ address }) => address)
  const only = (action: string) => addresses((actions) => actions.length === 1 && actions[0] === action)
  return {
    create: only('create'),
    update: only('update'),
    replace: addresses((actions) => actions.includes('create') && actions.includes('delete')),
    destroy: only('delete'),
  }
}

function countChanges(plan: PlanJson): TaskOutcome {
  const kinds = Object.entries(changesByKind(plan))
  const rows = kinds.map(
    ([kind, addresses]) => `| ${kind} | ${addresses.length} | ${addresses.slice(0, 3).map(code).join(', ')} |`,
  )
  return {
    'outcome-id': 'SAMPLE-1',
    description: 'What the plan does',
    tags: { status: [tag('Passed', 'none')], severity: [tag('None', 'none')] },
    body: [
      '## What the plan does',
      '| Action | Resources | For example |\n| --- | ---: | --- |\n' + rows.join('\n'),
      'The same, from the plan as JSON that every receiver may fetch:',
      fenced('jq', '[.resource_changes[].change.actions | join("-")] | group_by(.) | map({(.[0]): length}) | add'),
    ].join('\n\n'),
  }
}

function findDeletions(plan: PlanJson): TaskOutcome {
  const { replace, destroy } = changesByKind(plan)
  const lost = [...destroy, ...replace]
  const isFine = lost.length === 0
  return {
    'outcome-id': 'SAMPLE-2',
    description: isFine ? 'Nothing is destroyed' : `Destroyed or replaced: ${listed(lost)}`,
    tags: isFine
      ? { status: [tag('Passed', 'info')], severity: [tag('None', 'none')] }
      : { status: [tag('Needs a look', 'warning')], severity: [tag('Medium', 'warning')] },
    body: isFine
      ? '## Nothing is destroyed\n\nEvery resource that exists stays.'
      : `## What would be gone\n\n${lost
          .slice(0, MAX_LISTED)
          .map((address) => `- ${code(address)}`)
          .join('\n')}${more(lost)}`,
  }
}

const ANYWHERE = '0.0.0.0/0'

function findOpenRules({ resource_changes: changes }: PlanJson): TaskOutcome {
  const open = changes.filter(({ change }) => contains(change.after, ANYWHERE)).map(({ address }) => address)
  const isFine = open.length === 0
  return {
    'outcome-id': 'SAMPLE-3',
    description: isFine ? 'Nothing is open to the whole internet' : `Open to the whole internet: ${listed(open)}`,
    tags: isFine
      ? { status: [tag('Passed', 'info')], severity: [tag('None', 'none')] }
      : { status: [tag('Failed', 'error')], severity: [tag('High', 'error')] },
    body: isFine
      ? `## Nothing is open\n\nNo resource has the address range ${code(ANYWHERE)}.`
      : [
          '## Open to the whole internet',
          `These resources have the address range ${code(ANYWHERE)}, which is everybody:`,
          `| Resource | Range |\n| --- | --- |\n${open
            .slice(0, MAX_LISTED)
            .map((address) => `| ${code(address)} | ${code(ANYWHERE)} |`)
            .join('\n')}`,
          'Name the networks that need it instead:',
          fenced('hcl', '"https" = { port = 443, source = "192.0.2.0/24" }'),
          'The task is _advisory_: its findings warn, and do not stop the run.',
        ].join('\n\n'),
  }
}

function findSensitiveOutputs({ output_changes: outputs }: PlanJson): TaskOutcome {
  const names = Object.entries(outputs).flatMap(([name, output]) => (output.after_sensitive === true ? name : []))
  return {
    'outcome-id': 'SAMPLE-4',
    description: names.length === 0 ? 'No output is sensitive' : `Sensitive outputs: ${listed(names)}`,
    tags: {
      status: [tag('Noted', 'info')],
      severity: names.length === 0 ? [tag('None', 'none')] : [tag('Low', 'warning')],
    },
    body: [
      '## Sensitive outputs',
      names.length === 0
        ? 'Every output may be shown.'
        : `Pages and logs mask ${names.map(code).join(', ')}. Whoever may read the state of the workspace can read the values.`,
    ].join('\n\n'),
  }
}

/** Whether the text stands somewhere in a value of JSON. */
function contains(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((member) => contains(member, text))
}

const MAX_LISTED = 50

function listed(names: readonly string[]) {
  const rest = names.length - 3
  return rest > 0 ? `${names.slice(0, 3).join(', ')} and ${rest} more` : names.join(', ')
}

function more(names: readonly string[]) {
  return names.length > MAX_LISTED ? `\n- and ${names.length - MAX_LISTED} more` : ''
}

function code(text: string) {
  return `\`${text}\``
}

function fenced(language: string, text: string) {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

function tag(label: string, level: Level) {
  return { label, level }
}
