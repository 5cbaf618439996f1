import type { organizationSchema } from '@groundstate/contract/organizations'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { userSchema } from '@groundstate/contract/users'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import { focusHeading } from '../../components/page.tsx'

export type Run = Wire<typeof runSchema>
type Permissions = Wire<typeof organizationSchema>['attributes']['permissions']

/** Whether the person may make and remove a sample: it takes all of what its parts take. */
export function mayMakeSample(permissions: Permissions) {
  return (
    permissions['can-create-project'] &&
    permissions['can-create-workspace'] &&
    permissions['can-manage-varsets'] &&
    permissions['can-manage-run-tasks']
  )
}

/** The name of a person; undefined while it is not known, and for no one. */
export function usePersonName(id: string | undefined) {
  return useQuery({
    queryKey: ['users', id],
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await get<DocumentOnWire<typeof userSchema>>(`/users/${id}`, signal)).data.attributes.username,
  }).data
}

/** The latest run of a workspace; null before the first one. */
export function useLatestRun(workspaceId: string | undefined) {
  return useQuery({
    queryKey: ['runs', workspaceId, 'latest'],
    enabled: workspaceId !== undefined,
    queryFn: async ({ signal }) => {
      const { data } = await get<PageOnWire<typeof runSchema>>(`/workspaces/${workspaceId}/runs?page[size]=1`, signal)
      return data[0] ?? null
    },
  })
}

/** Makes the sample, or what has been deleted of it. */
export function useMakeSample(organization: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => request('POST', `/organizations/${organization}/actions/make-sample`),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['overview', organization] })
      // The button is gone with what it offered.
      requestAnimationFrame(focusHeading)
    },
  })
}

export function useRemoveSample(organization: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => request('DELETE', `/organizations/${organization}/sample`),
    onSuccess: async () => {
      const kinds = ['overview', 'runs', 'workspaces']
      await Promise.all(kinds.map(async (kind) => queries.invalidateQueries({ queryKey: [kind, organization] })))
      requestAnimationFrame(focusHeading)
    },
  })
}
