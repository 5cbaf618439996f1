import { getRouteApi, Outlet } from '@tanstack/react-router'
import { useEffect } from 'react'
import { failureOf } from '../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { WorkspaceHeader } from './workspace-header.tsx'
import { useWorkspace } from './workspace.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace')

/** Layout around the tabs of a workspace. */
export function WorkspaceFrame() {
  const { organization, workspace: name } = route.useParams()
  const navigate = route.useNavigate()
  const workspace = useWorkspace(organization, name)
  const now = workspace.data?.data.attributes.name

  useEffect(() => {
    if (now !== undefined && now !== name)
      void navigate({ to: '.', params: (before) => ({ ...before, workspace: now }), search: true, replace: true })
  }, [navigate, name, now])

  if (workspace.isPending) return <Skeleton label="Loading the workspace" rows={8} />
  const failure = failureOf(workspace)
  if (failure) return <ErrorPage {...failure} what="workspace" />
  return (
    <WorkspaceHeader>
      <Outlet />
    </WorkspaceHeader>
  )
}
