import type { CreateRun } from '@groundstate/contract/runs'

export type RunKind = 'apply' | 'plan' | 'refresh' | 'destroy'

export const NEW_RUN = {
  kind: 'apply' as RunKind,
  message: '',
  targets: [] as readonly string[],
  replacements: [] as readonly string[],
  /** Values are HCL expressions; `row` identifies a row of the form. */
  variables: [] as readonly { row: number; key: string; value: string }[],
  /** Only for plan-only runs. */
  engineVersion: '',
  /** Empty for the workspace default. */
  autoApply: '' as '' | 'yes' | 'no',
  allowEmptyApply: false,
  savePlan: false,
  generateConfig: false,
  debuggingMode: false,
  refresh: true,
}
export type NewRun = typeof NEW_RUN

const DEFAULT_MESSAGE = 'Triggered via UI'

/** The options that the form offers; mutually exclusive ones are not offered together. */
export function availableOptions({ kind, savePlan }: Pick<NewRun, 'kind' | 'savePlan'>) {
  const isPlanned = kind === 'apply' || kind === 'plan'
  const isApplied = kind === 'apply' || kind === 'refresh'
  return {
    replace: isPlanned,
    engineVersion: kind === 'plan',
    savePlan: isApplied,
    allowEmptyApply: isApplied,
    // A destroy run always needs approval.
    autoApply: isApplied && !savePlan,
    generateConfig: isPlanned,
    refresh: kind !== 'refresh',
    debuggingMode: true,
  }
}

/** The body of the request. Omits values of options that the kind of run does not have. */
export function newRunBody(workspaceId: string, run: NewRun) {
  const has = availableOptions(run)
  const attributes: CreateRun = {
    message: run.message.trim() || DEFAULT_MESSAGE,
    ...(run.kind === 'plan' && { 'plan-only': true }),
    ...(run.kind === 'refresh' && { 'refresh-only': true }),
    ...(run.kind === 'destroy' && { 'is-destroy': true, 'auto-apply': false }),
    ...(run.targets.length > 0 && { 'target-addrs': [...run.targets] }),
    ...(has.replace && run.replacements.length > 0 && { 'replace-addrs': [...run.replacements] }),
    ...(run.variables.length > 0 && {
      variables: run.variables.map(({ key, value }) => ({ key: key.trim(), value: value.trim() })),
    }),
    ...(has.engineVersion && run.engineVersion.trim() !== '' && { 'engine-version': run.engineVersion.trim() }),
    ...(has.savePlan && run.savePlan && { 'save-plan': true }),
    ...(has.autoApply && run.autoApply !== '' && { 'auto-apply': run.autoApply === 'yes' }),
    ...(has.allowEmptyApply && run.allowEmptyApply && { 'allow-empty-apply': true }),
    ...(has.generateConfig && run.generateConfig && { 'allow-config-generation': true }),
    ...(run.debuggingMode && { 'debugging-mode': true }),
    ...(has.refresh && !run.refresh && { refresh: false }),
  }
  return {
    data: { type: 'runs', attributes, relationships: { workspace: { data: { type: 'workspaces', id: workspaceId } } } },
  }
}

const KIND_ATTRIBUTES = new Set(['message', 'plan-only', 'refresh-only', 'is-destroy'])

/** The number of options that are set besides the kind and the message; each variable counts as one. */
export function countOptions(run: NewRun) {
  const { variables, 'auto-apply': autoApply, ...others } = newRunBody('', run).data.attributes
  const named = Object.keys(others).filter((name) => !KIND_ATTRIBUTES.has(name)).length
  return named + (variables?.length ?? 0) + (autoApply === undefined || run.kind === 'destroy' ? 0 : 1)
}

export type VariableError = { key: string | undefined; value: string | undefined }

export async function variableErrors(variables: NewRun['variables']): Promise<Map<number, VariableError>> {
  const errors = await Promise.all(
    variables.map(async ({ row, key, value }) => {
      const name = key.trim()
      const isDuplicate = variables.some((other) => other.row !== row && other.key.trim() === name)
      const keyError = name === '' ? 'the name is missing' : isDuplicate ? `duplicate variable ${name}` : undefined
      return [row, { key: keyError, value: await hclValueError(value) }] as const
    }),
  )
  return new Map(errors.filter(([, { key, value }]) => key !== undefined || value !== undefined))
}

const LITERALS = new Set(['true', 'false', 'null'])

/** Why a value is not a valid HCL expression, or undefined. Loads the parser on first use. */
export async function hclValueError(value: string): Promise<string | undefined> {
  const text = value.trim()
  if (text === '') return 'the value is missing; "" is an empty string'
  if (/^[A-Za-z_][\w-]*$/.test(text) && !LITERALS.has(text)) return `a string needs quotes: "${text}"`
  const { hclLanguage } = await import('codemirror-lang-hcl')
  let isInvalid = false
  hclLanguage.parser.parse(`value = ${text}\n`).iterate({
    enter: ({ type }) => {
      isInvalid ||= type.isError
    },
  })
  return isInvalid ? 'invalid HCL; valid values: "text", 12, true, ["a", "b"], { key = "value" }' : undefined
}
