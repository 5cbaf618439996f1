import { EmptyState, loaded } from '../../components/feedback.tsx'
import { ProjectAccessForm } from '../team-access/access-forms.tsx'
import { PROJECT_LEVELS, projectAccessText } from '../team-access/access-text.ts'
import { GrantsCard } from '../team-access/grants-card.tsx'
import { useGrants } from '../team-access/grants.ts'
import { WiderAccess } from '../team-access/team-link.tsx'
import type { Project } from './projects.ts'

/** The teams with access to the project and thereby to all of its workspaces. */
export function ProjectAccess({ organization, project }: { organization: string; project: Project }) {
  const { name, permissions } = project.attributes
  const { data, fallback } = loaded(useGrants('project', project.id))
  if (!data) return fallback
  const seesAll = permissions['can-read-teams']
  if (!seesAll && data.length === 0) {
    return (
      <EmptyState title="You don’t have access to the project’s teams" text="A project administrator can grant it." />
    )
  }
  return (
    <div className="max-w-4xl space-y-4">
      <GrantsCard
        organization={organization}
        subject={{ kind: 'project', id: project.id, name }}
        title={seesAll ? 'Teams with access' : 'Your teams'}
        about="Access to the project includes all of its workspaces, including those created or moved here later."
        none="No team has access to this project."
        grants={data}
        mayManage={permissions['can-manage-teams']}
        levelOf={({ access }) => PROJECT_LEVELS[access].text}
        textOf={projectAccessText}
        remaining="Its members keep access granted by the organization or by single workspaces."
        renderForm={(form) => <ProjectAccessForm {...form} />}
      />
      <WiderAccess organization={organization} />
    </div>
  )
}
