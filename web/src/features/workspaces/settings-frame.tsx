import { Notice } from '../../components/feedback.tsx'
import { SectionLayout } from '../../components/section-layout.tsx'
import { shownSettings } from './workspace-sections.ts'
import { useOpenWorkspace } from './workspace.ts'

/** The settings of a workspace, one form per section; read-only for users who may not change them. */
export function SettingsFrame() {
  const { organization, workspace } = useOpenWorkspace()
  const { name, permissions } = workspace.attributes
  return (
    <div className="space-y-4">
      {!permissions['can-update'] && (
        <Notice>You can view these settings. Changing them requires admin access to the workspace.</Notice>
      )}
      <SectionLayout
        label="Workspace settings"
        sections={shownSettings(permissions).map(({ text, path }) => ({
          text,
          isExact: path === '',
          link: {
            to: `/app/$organization/workspaces/$workspace/settings${path}`,
            params: { organization, workspace: name },
          },
        }))}
      />
    </div>
  )
}
