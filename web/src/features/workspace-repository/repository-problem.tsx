import { Notice } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { withLocalTimes } from '../../components/time.tsx'
import type { WorkspaceAttributes } from '../workspaces/workspace.ts'

type ProblemProps = {
  workspace: Pick<WorkspaceAttributes, 'name' | 'permissions' | 'vcs-repo-problem'>
  /** Called before the page is left. */
  onLeave?: () => void
}

/** Why the repository of a workspace cannot be read or reports nothing, with the settings to change; nothing without a problem. */
export function RepositoryProblem({ workspace, onLeave }: ProblemProps) {
  const { name, permissions, 'vcs-repo-problem': problem } = workspace
  if (problem === null) return null
  return (
    <Notice tone="bad">
      <p>{withLocalTimes(problem)}</p>
      {permissions['can-read-settings'] && (
        <WorkspaceLink workspace={name} tab="settings/repository" onClick={onLeave} className="underline">
          Settings › Repository
        </WorkspaceLink>
      )}
    </Notice>
  )
}
