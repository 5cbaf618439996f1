import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type {
  failedJobSchema,
  failedJobsChanged,
  mailTestSchema,
  siteHealthSchema,
} from '@groundstate/contract/site-health'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'

export type Health = Wire<typeof siteHealthSchema>['attributes']
export type FailedJob = Wire<typeof failedJobSchema>

const REFETCH_MS = 10_000

/** Refetched while the page is visible: these numbers are not announced by the stream of changes. */
export function useHealth() {
  return useQuery({
    queryKey: ['site-health'],
    queryFn: async () => (await getData<DocumentOnWire<typeof siteHealthSchema>>('/admin/health')).attributes,
    refetchInterval: REFETCH_MS,
  })
}

export function useTestMail() {
  return useMutation({
    mutationFn: async () => request<Wire<typeof mailTestSchema>>('POST', '/admin/mail/actions/test'),
  })
}

export function useFailedJobs({ kind, page }: { kind?: string | undefined; page?: number | undefined }) {
  const query = queryString({ 'filter[kind]': kind, 'page[number]': page, 'page[size]': 50 })
  return useQuery({
    queryKey: ['failed-jobs', query],
    queryFn: async ({ signal }) => get<PageOnWire<typeof failedJobSchema>>(`/admin/failed-jobs${query}`, signal),
    placeholderData: keepPreviousData,
  })
}

type JobAction = 'retry' | 'discard'

/** Retries or discards one job, or all of a kind; returns their number. */
export async function actOnJobs(action: JobAction, { id, kind }: { id?: string; kind?: string | undefined }) {
  const path =
    id === undefined ? `/actions/${action}${queryString({ 'filter[kind]': kind })}` : `/${id}/actions/${action}`
  try {
    return (await request<Wire<typeof failedJobsChanged>>('POST', `/admin/failed-jobs${path}`)).count
  } finally {
    await invalidate(['failed-jobs'], ['site-health'])
  }
}
