import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { CreateRun, runSchema } from '@groundstate/contract/runs'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../../api/client.ts'
import { includedOf, useChange } from '../../../api/queries.ts'
import { holderOf } from '../../workspaces/lock-holder.ts'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { engineAddress } from '../resource-address.ts'

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

export type NewRunContext = NonNullable<ReturnType<typeof useNewRunContext>['data']>

/** The workspace with the configuration that a new run would use, and the run or lock that would block it. */
export function useNewRunContext(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'start'],
    queryFn: async () => {
      const document = await get<DocumentOnWire<typeof workspaceSchema, Included>>(
        `/workspaces/${workspaceId}?include=current_configuration_version,current_run,locked_by`,
      )
      const included = includedOf(document)
      const { attributes, relationships } = document.data
      const lockedBy = relationships['locked-by']
      return {
        workspace: document.data,
        configuration: attributes['has-configuration']
          ? included.one('configuration-versions', relationships['current-configuration-version'])
          : undefined,
        currentRun: included.one('runs', relationships['current-run']),
        holder: holderOf(document.data, included.one('users', lockedBy) ?? included.one('teams', lockedBy)),
      }
    },
  })
}
type Included = typeof configurationVersionSchema | typeof runSchema | typeof userSchema | typeof teamSchema

export function useRunOfConfiguration(versionId: string) {
  return useQuery({
    queryKey: ['configuration-versions', versionId, 'run'],
    staleTime: 60_000,
    queryFn: async () => {
      const version = await get<DocumentOnWire<typeof configurationVersionSchema, typeof runSchema>>(
        `/configuration-versions/${versionId}?include=run`,
      )
      const id = version.data.relationships.run?.data?.id
      if (id === undefined) return null
      const run = await get<DocumentOnWire<typeof runSchema, typeof userSchema>>(`/runs/${id}?include=created_by`)
      const author = includedOf(run).one('users', run.data.relationships['created-by'])
      return { run: run.data, author: author?.attributes.username }
    },
  })
}

export async function findAddresses(workspaceId: string, text: string, signal: AbortSignal) {
  const path = `/workspaces/${workspaceId}/resources${queryString({ q: text, 'page[size]': 20 })}`
  const { data } = await get<PageOnWire<typeof workspaceResourceSchema>>(path, signal)
  const addresses = data.map(({ attributes }) => engineAddress(attributes))
  return addresses.map((address) => ({ value: address, text: address }))
}

export function useCreateRun({ id, relationships }: WorkspaceResource) {
  const scopes = [id, relationships.organization.data?.id]
  return useChange(
    async (run: NewRun) => (await request<DocumentOnWire<typeof runSchema>>('POST', '/runs', newRunBody(id, run))).data,
    ...['runs', 'workspaces', 'overview'].flatMap((type) => scopes.map((scope) => [type, scope])),
  )
}
