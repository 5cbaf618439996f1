import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Navigate, getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import { failureOf, includedOf } from '../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'

const route = getRouteApi('/frame/app/$organization/runs/$run')

/** Leads to the run's page: its address names the workspace, which an id alone does not. */
export function RunByIdPage() {
  const { organization, run: id } = route.useParams()
  const run = useQuery({
    queryKey: ['runs', id, 'workspace'],
    queryFn: async () => get<DocumentOnWire<typeof runSchema, typeof workspaceSchema>>(`/runs/${id}?include=workspace`),
  })
  const failure = failureOf(run)
  if (failure) return <ErrorPage {...failure} what="run" />
  if (!run.data) return <Skeleton />
  const workspace = includedOf(run.data).one('workspaces', run.data.data.relationships.workspace)
  if (!workspace) return <ErrorPage error={new Error('its workspace is missing')} what="run" />
  // The address may name another organization than that of the run.
  const owner = workspace.relationships.organization.data?.id ?? organization
  const params = { organization: owner, workspace: workspace.attributes.name, run: id }
  return <Navigate to="/app/$organization/workspaces/$workspace/runs/$run" params={params} replace />
}
