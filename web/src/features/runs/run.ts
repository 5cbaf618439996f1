import type { shownRunIncludes } from '@groundstate/contract/includes'
import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { policyEvaluationSchema } from '@groundstate/contract/policies'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runEventSchema } from '@groundstate/contract/run-events'
import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import type { taskResultSchema } from '@groundstate/contract/task-results'
import type { taskStageSchema } from '@groundstate/contract/task-stages'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { get, queryString, request } from '../../api/client.ts'
import { gathered } from '../../api/gathered.ts'
import { onChange } from '../../api/live.ts'
import { includedOf, invalidate, useChange } from '../../api/queries.ts'

export type Run = Wire<typeof runSchema>
export type Plan = Wire<typeof planSchema>
export type Apply = Wire<typeof applySchema>
export type TaskResult = Wire<typeof taskResultSchema>
export type PolicyEvaluation = Wire<typeof policyEvaluationSchema> & { overriddenBy: string | undefined }
export type TaskStage = Wire<typeof taskStageSchema> & {
  results: readonly TaskResult[]
  evaluations: readonly PolicyEvaluation[]
}
export type RunEvent = Wire<typeof runEventSchema> & { author: string | undefined; comment: string | undefined }
export type RunDocument = ReturnType<typeof readDocument>

type Includes = typeof shownRunIncludes
type RunOnWire = DocumentOnWire<typeof runSchema, Exclude<Includes[keyof Includes], null | readonly unknown[]>>

/** Task outcomes and deliveries can be long and are loaded when the user expands them. */
const INCLUDE =
  'plan,apply,created_by,workspace,configuration_version.ingress_attributes,task_stages.task_results,task_stages.policy_evaluations.overridden_by,run_events.actor,run_events.comment,triggering_runs.workspace'

/** A run with everything its page initially shows, in one request. */
export function useRun(id: string) {
  return useQuery({
    queryKey: ['runs', id, 'page'],
    queryFn: async () => readDocument(await get<RunOnWire>(`/runs/${id}?include=${INCLUDE}`)),
  })
}

function readDocument(document: RunOnWire) {
  const run = document.data
  const { relationships } = run
  const included = includedOf(document)
  const configuration = included.one('configuration-versions', relationships['configuration-version'])
  return {
    run,
    plan: included.one('plans', relationships.plan),
    apply: included.one('applies', relationships.apply),
    workspace: included.one('workspaces', relationships.workspace),
    configuration,
    commit: included.one('ingress-attributes', configuration?.relationships['ingress-attributes']),
    createdBy: included.one('users', relationships['created-by']),
    stages: included.many('task-stages', relationships['task-stages']).map((stage): TaskStage => ({
      ...stage,
      results: included.many('task-results', stage.relationships['task-results']),
      evaluations: included
        .many('policy-evaluations', stage.relationships['policy-evaluations'])
        .map((evaluation): PolicyEvaluation => ({
          ...evaluation,
          overriddenBy: included.one('users', evaluation.relationships['overridden-by'])?.attributes.username,
        })),
    })),
    events: included.many('run-events', relationships['run-events']).map((event): RunEvent => ({
      ...event,
      author: included.one('users', event.relationships.actor)?.attributes.username,
      comment: included.one('comments', event.relationships.comment)?.attributes.body,
    })),
    /** The runs that triggered this one and that the user may read, with the names of their workspaces. */
    triggers: included.many('runs', relationships['triggering-runs']).flatMap((trigger) => {
      const workspace = included.one('workspaces', trigger.relationships.workspace)?.attributes.name
      return workspace === undefined ? [] : [{ id: trigger.id, workspace }]
    }),
  }
}

export type RunAction = 'apply' | 'discard' | 'cancel' | 'force-cancel' | 'force-execute'

/** Resolves once the page shows the result, which prevents a second click. Refreshes the page after an error too. */
export async function sendRunAction(id: string, action: RunAction, comment: string | undefined) {
  try {
    await request('POST', `/runs/${id}/actions/${action}`, comment === undefined ? {} : { comment })
  } finally {
    await invalidate(['runs', id])
  }
}

export function useAddComment(id: string) {
  return useChange(
    async (body: string) =>
      request('POST', `/runs/${id}/comments`, { data: { type: 'comments', attributes: { body } } }),
    ['runs', id],
  )
}

/** Refetches a queued run when other runs of its workspace, or the workspace lock, change: they can block it. */
export function useQueueUpdates({ run }: RunDocument) {
  const workspace = run.relationships.workspace.data?.id
  const isQueued = RUN_STATUS_TABLE[run.attributes.status].awaits === 'queue'
  useEffect(() => {
    if (!isQueued) return undefined
    const refreshSoon = gathered(async () => invalidate(['runs', run.id]))
    const stop = onChange((change) => {
      // The log of the blocking run changes constantly but does not affect the queue.
      if (change?.type !== 'runs' && change?.type !== 'workspaces') return
      if (change.id !== run.id && [change.id, change.workspace].includes(workspace)) refreshSoon()
    })
    return () => void stop()
  }, [isQueued, run.id, workspace])
}

/** Creates a run with the same configuration and options. Returns its ID. */
export async function rerun({ attributes, relationships }: Run): Promise<string> {
  const isPlanOnly = attributes['plan-only']
  const { data } = await request<DocumentOnWire<typeof runSchema>>('POST', '/runs', {
    data: {
      type: 'runs',
      attributes: {
        message: attributes.message,
        'is-destroy': attributes['is-destroy'],
        refresh: attributes.refresh,
        'refresh-only': attributes['refresh-only'],
        'plan-only': isPlanOnly,
        'save-plan': attributes['save-plan'],
        'auto-apply': attributes['auto-apply'] && attributes.permissions['can-apply'],
        'allow-empty-apply': attributes['allow-empty-apply'],
        'allow-config-generation': attributes['allow-config-generation'],
        'debugging-mode': attributes['debugging-mode'],
        'target-addrs': attributes['target-addrs'],
        'replace-addrs': attributes['replace-addrs'],
        variables: attributes.variables,
        // Only a plan-only run may override the engine version.
        ...(isPlanOnly && { 'terraform-version': attributes['engine-version'] }),
      },
      relationships: {
        workspace: { data: relationships.workspace.data },
        'configuration-version': { data: relationships['configuration-version'].data },
      },
    },
  })
  return data.id
}

/** A page of a state version's outputs without sensitive values. Disabled while `id` is undefined. */
export function useVersionOutputs(id: string | undefined, page: number) {
  const query = queryString({ 'withhold-sensitive': 'true', 'page[number]': page, 'page[size]': 100 })
  return useQuery({
    queryKey: ['outputs', id, query],
    enabled: id !== undefined,
    queryFn: async () => get<PageOnWire<typeof stateVersionOutputSchema>>(`/state-versions/${id}/outputs${query}`),
  })
}
