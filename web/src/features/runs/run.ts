import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { commentSchema, runEventSchema } from '@groundstate/contract/run-events'
import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import type { taskResultSchema } from '@groundstate/contract/task-results'
import type { taskStageSchema } from '@groundstate/contract/task-stages'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { get, request } from '../../api/client.ts'
import { gathered } from '../../api/gathered.ts'
import { onChange } from '../../api/live.ts'
import { includedOf } from '../../api/queries.ts'

export type Run = Wire<typeof runSchema>
export type Plan = Wire<typeof planSchema>
export type Apply = Wire<typeof applySchema>
export type TaskResult = Wire<typeof taskResultSchema>

/** A stage of run tasks with the results of its tasks. */
export type TaskStage = Wire<typeof taskStageSchema> & { results: readonly TaskResult[] }

/** An event of a run with its author and its comment. */
export type RunEvent = Wire<typeof runEventSchema> & {
  author: string | undefined
  comment: string | undefined
}

export type RunDocument = ReturnType<typeof readDocument>

type Included =
  | typeof planSchema
  | typeof applySchema
  | typeof userSchema
  | typeof workspaceSchema
  | typeof configurationVersionSchema
  | typeof taskStageSchema
  | typeof taskResultSchema
  | typeof runEventSchema
  | typeof commentSchema
  | typeof runSchema

/** Outcomes and deliveries are not among them: they may be long, and are read when somebody opens them. */
const INCLUDE = [
  'plan',
  'apply',
  'created_by',
  'workspace',
  'configuration_version',
  'task_stages.task_results',
  'run_events.actor',
  'run_events.comment',
  'triggering_runs.workspace',
].join(',')

/** A run with all that its page shows at first sight, in one request. */
export function useRun(id: string) {
  return useQuery({
    queryKey: ['runs', id, 'page'],
    queryFn: async () =>
      readDocument(await get<DocumentOnWire<typeof runSchema, Included>>(`/runs/${id}?include=${INCLUDE}`)),
  })
}

function readDocument(document: DocumentOnWire<typeof runSchema, Included>) {
  const run = document.data
  const { relationships } = run
  const included = includedOf(document)
  return {
    run,
    plan: included.one('plans', relationships.plan),
    apply: included.one('applies', relationships.apply),
    workspace: included.one('workspaces', relationships.workspace),
    configuration: included.one('configuration-versions', relationships['configuration-version']),
    createdBy: included.one('users', relationships['created-by']),
    stages: included.many('task-stages', relationships['task-stages']).map((stage): TaskStage => ({
      ...stage,
      results: included.many('task-results', stage.relationships['task-results']),
    })),
    events: included.many('run-events', relationships['run-events']).map((event): RunEvent => ({
      ...event,
      author: included.one('users', event.relationships.actor)?.attributes.username,
      comment: included.one('comments', event.relationships.comment)?.attributes.body,
    })),
    /** The runs that started this one, each with the name of its workspace; those that the person may see. */
    triggers: included.many('runs', relationships['triggering-runs']).flatMap((trigger) => {
      const workspace = included.one('workspaces', trigger.relationships.workspace)?.attributes.name
      return workspace === undefined ? [] : [{ id: trigger.id, workspace }]
    }),
  }
}

export type RunAction = 'apply' | 'discard' | 'cancel' | 'force-cancel' | 'force-execute'

/**
 * Acts on a run. Resolves when the page shows what came of it, so that nobody presses twice; a refusal is thrown, and the page
 * is read again then too: it was out of date.
 */
export function useRunAction(id: string) {
  const refresh = useRefresh(id)
  return async (action: RunAction, comment: string | undefined) => {
    try {
      await request('POST', `/runs/${id}/actions/${action}`, comment === undefined ? {} : { comment })
    } finally {
      await refresh()
    }
  }
}

export function useAddComment(id: string) {
  const refresh = useRefresh(id)
  return async (body: string) => {
    await request('POST', `/runs/${id}/comments`, { data: { type: 'comments', attributes: { body } } })
    await refresh()
  }
}

/** Reads everything about the run again that the page shows. */
export function useRefresh(id: string) {
  const queries = useQueryClient()
  return async () => queries.invalidateQueries({ queryKey: ['runs', id] })
}

/** Keeps a run up to date that waits for its turn: what holds it up are other runs of its workspace, or a lock. */
export function useQueueUpdates({ run }: RunDocument) {
  const refresh = useRefresh(run.id)
  const latest = useRef(refresh)
  useEffect(() => {
    latest.current = refresh
  })
  const workspace = run.relationships.workspace.data?.id
  const waits = RUN_STATUS_TABLE[run.attributes.status].awaits === 'queue'
  useEffect(() => {
    if (!waits) return undefined
    const refreshSoon = gathered(async () => latest.current())
    const stop = onChange((change) => {
      // The log of the run ahead grows all the time, and says nothing about the line.
      if (change.type !== 'runs' && change.type !== 'workspaces') return
      if (change.id !== run.id && [change.id, change.workspace].includes(workspace)) refreshSoon()
    })
    return () => void stop()
  }, [waits, run.id, workspace])
}

/** Starts a run like this one: the same configuration and the same options. Returns its id. */
export async function runAgain({ attributes, relationships }: Run): Promise<string> {
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
        // Only a run that changes nothing may have an engine of its own.
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
