import type { CreateRun } from '@groundstate/contract/runs'

/** What a run is for. */
export type RunKind = 'apply' | 'plan' | 'refresh' | 'destroy'

/** The form of a new run. */
export type NewRun = {
  kind: RunKind
  message: string
  targets: readonly string[]
  replaced: readonly string[]
  /** The values are expressions of HCL. `row` only tells the rows of the form apart. */
  variables: readonly { row: number; key: string; value: string }[]
  /** Of plan-only runs. */
  engineVersion: string
  /** Empty where the workspace decides. */
  autoApply: '' | 'yes' | 'no'
  allowsEmptyApply: boolean
  savesPlan: boolean
  /** The plan may write configuration for resources that it imports. */
  generates: boolean
  isDebugging: boolean
  refreshes: boolean
}

export const NEW_RUN: NewRun = {
  kind: 'apply',
  message: '',
  targets: [],
  replaced: [],
  variables: [],
  engineVersion: '',
  autoApply: '',
  allowsEmptyApply: false,
  savesPlan: false,
  generates: false,
  isDebugging: false,
  refreshes: true,
}

const DEFAULT_MESSAGE = 'Started in the web application'

/** Which options a run has: those that exclude each other are not offered together. */
export function optionsOf({ kind, savesPlan }: Pick<NewRun, 'kind' | 'savesPlan'>) {
  const canApply = kind !== 'plan'
  return {
    replace: kind === 'apply' || kind === 'plan',
    engineVersion: !canApply,
    savePlan: canApply && kind !== 'destroy',
    emptyApply: canApply && kind !== 'destroy',
    // A destruction is always approved by somebody who has seen its plan.
    autoApply: canApply && kind !== 'destroy' && !savesPlan,
    generate: kind === 'apply' || kind === 'plan',
    refresh: kind !== 'refresh',
  }
}

/** The body of the request. An option that its kind does not have is left out, whatever the form still holds. */
export function newRunBody(workspaceId: string, run: NewRun) {
  const has = optionsOf(run)
  const attributes: CreateRun = {
    message: run.message.trim() === '' ? DEFAULT_MESSAGE : run.message.trim(),
    ...(run.kind === 'plan' && { 'plan-only': true }),
    ...(run.kind === 'refresh' && { 'refresh-only': true }),
    ...(run.kind === 'destroy' && { 'is-destroy': true, 'auto-apply': false }),
    ...(run.targets.length > 0 && { 'target-addrs': [...run.targets] }),
    ...(has.replace && run.replaced.length > 0 && { 'replace-addrs': [...run.replaced] }),
    ...(run.variables.length > 0 && {
      variables: run.variables.map(({ key, value }) => ({ key: key.trim(), value: value.trim() })),
    }),
    ...(has.engineVersion && run.engineVersion.trim() !== '' && { 'engine-version': run.engineVersion.trim() }),
    ...(has.savePlan && run.savesPlan && { 'save-plan': true }),
    ...(has.autoApply && run.autoApply !== '' && { 'auto-apply': run.autoApply === 'yes' }),
    ...(has.emptyApply && run.allowsEmptyApply && { 'allow-empty-apply': true }),
    ...(has.generate && run.generates && { 'allow-config-generation': true }),
    ...(run.isDebugging && { 'debugging-mode': true }),
    ...(has.refresh && !run.refreshes && { refresh: false }),
  }
  return {
    data: { type: 'runs', attributes, relationships: { workspace: { data: { type: 'workspaces', id: workspaceId } } } },
  }
}

/** Attributes that say what the run is for. */
const OF_KIND = new Set(['message', 'plan-only', 'refresh-only', 'is-destroy'])

/** How many options are set beside the kind and the message; each variable counts by itself. */
export function optionsSet(run: NewRun) {
  const { variables, 'auto-apply': autoApply, ...rest } = newRunBody('', run).data.attributes
  const named = Object.keys(rest).filter((name) => !OF_KIND.has(name)).length
  return named + (variables?.length ?? 0) + (autoApply === undefined || run.kind === 'destroy' ? 0 : 1)
}
