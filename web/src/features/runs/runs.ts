import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Document, get, type ListDocument, request } from '../../api/client.ts'
import { isFinal } from './run-status.tsx'

export type RunAttributes = {
  status: string
  message: string | null
  'created-at': string
  'has-changes': boolean
  'is-destroy': boolean
  'plan-only': boolean
  'waiting-reason'?: string | null
  actions: Record<'is-cancelable' | 'is-confirmable' | 'is-discardable' | 'is-force-cancelable', boolean>
  permissions: Record<string, boolean>
}
export type PhaseAttributes = {
  status: string
  'log-read-url': string | null
  'resource-additions': number | null
  'resource-changes': number | null
  'resource-destructions': number | null
}

const POLL_MS = 1500

export function useRuns(workspaceId: string | undefined, page: number) {
  return useQuery({
    queryKey: ['runs', workspaceId, page],
    enabled: workspaceId !== undefined,
    queryFn: async () =>
      get<ListDocument<RunAttributes>>(`/workspaces/${workspaceId}/runs?page[size]=20&page[number]=${page}`),
    refetchInterval: (query) =>
      query.state.data?.data.some((run) => !isFinal(run.attributes.status)) ? POLL_MS : 15_000,
  })
}

export function useRun(id: string) {
  return useQuery({
    queryKey: ['run', id],
    queryFn: async () => get<Document<RunAttributes>>(`/runs/${id}?include=plan,apply`),
    refetchInterval: (query) =>
      query.state.data && isFinal(query.state.data.data.attributes.status) ? false : POLL_MS,
  })
}

export type RunAction = 'apply' | 'discard' | 'cancel' | 'force-cancel'

export function useRunAction(id: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (action: RunAction) => request('POST', `/runs/${id}/actions/${action}`, {}),
    onSettled: async () => queries.invalidateQueries({ queryKey: ['run', id] }),
  })
}
