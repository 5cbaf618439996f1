import type { DocumentOnWire } from '@groundstate/contract/answers'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { CommandLineSteps } from '../workspaces/command-line-steps.tsx'
import { RunsList } from './runs-list.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs')

/** The runs of a workspace, the newest first. */
export function RunsTab() {
  const { organization, workspace: name } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const workspace = useQuery({
    queryKey: ['workspaces', organization, 'of-runs', name],
    queryFn: async () =>
      (await get<DocumentOnWire<typeof workspaceSchema>>(`/organizations/${organization}/workspaces/${name}`)).data,
  })
  if (workspace.isPending) return <Skeleton rows={8} />
  if (workspace.error) return <ErrorNote error={workspace.error} onRetry={() => void workspace.refetch()} />
  return (
    <RunsList
      scope={{ organization, workspaceId: workspace.data.id }}
      workspace={name}
      search={search}
      onSearch={(change, { isTyping = false } = {}) =>
        void navigate({ search: (before) => ({ ...before, ...change }), replace: isTyping })
      }
    >
      {workspace.data.attributes['execution-mode'] === 'local' ? (
        <p>
          This workspace has the execution mode local: the command line makes its runs on your machine, and the server
          keeps the state and the lock.
        </p>
      ) : (
        <>
          <p>A run needs a configuration. The command line uploads one with its first plan:</p>
          <CommandLineSteps organization={organization} workspace={name} />
        </>
      )}
    </RunsList>
  )
}
