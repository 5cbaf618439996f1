import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { NotificationsTab } from './notifications-tab.tsx'

/** The notifications about one workspace, in its settings. */
export function WorkspaceNotifications() {
  const { organization, workspace } = useOpenWorkspace()
  const { name, permissions } = workspace.attributes
  return (
    <NotificationsTab
      owner={{ organization, kind: 'workspaces', id: workspace.id, name }}
      mayManage={permissions['can-update']}
      place={{
        to: '/app/$organization/workspaces/$workspace/settings/notifications',
        params: { organization, workspace: name },
      }}
    />
  )
}
