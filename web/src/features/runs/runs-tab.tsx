import { getRouteApi } from '@tanstack/react-router'
import { ConnectCli } from '../workspaces/connect-cli.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { RunsList } from './runs-list.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs')

/** The runs of a workspace, the newest first. */
export function RunsTab() {
  const { organization, workspace } = useOpenWorkspace()
  const { name } = workspace.attributes
  const search = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <RunsList
      scope={{ organization, workspaceId: workspace.id }}
      workspace={name}
      search={search}
      onSearch={(change, { isTyping = false } = {}) =>
        void navigate({ search: (before) => ({ ...before, ...change }), replace: isTyping })
      }
    >
      {workspace.attributes['execution-mode'] === 'local' ? (
        <p>
          This workspace has the execution mode local: the command line makes its runs on your machine, and the server
          keeps the state and the lock.
        </p>
      ) : (
        <>
          <p>A run needs a configuration. The command line uploads one with its first plan:</p>
          <ConnectCli organization={organization} workspace={name} />
        </>
      )}
    </RunsList>
  )
}
