import { getRouteApi } from '@tanstack/react-router'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Badge, TagBadge } from '../../components/status.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { tagLabel } from '../workspaces/tag-filter.ts'
import { ProjectAccess } from './project-access.tsx'
import { ProjectSettings } from './project-settings.tsx'
import { ProjectVariableSets } from './project-variable-sets.tsx'
import { ProjectWorkspaces } from './project-workspaces.tsx'
import { type ShownProject, useProject } from './projects.ts'

const NotificationsTab = lazy(async () => ({
  default: (await import('../notifications/notifications-tab.tsx')).NotificationsTab,
}))
const route = getRouteApi('/frame/app/$organization/projects/$project')

const TABS = {
  workspaces: 'Workspaces',
  'variable-sets': 'Variable sets',
  access: 'Access',
  notifications: 'Notifications',
  settings: 'Settings',
} as const

export function ProjectPage() {
  const { project: id } = route.useParams()
  const query = useProject(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="project" list="projects" {...failure} />
  return query.data ? <OpenProject shown={query.data} /> : <Skeleton label="Loading the project" />
}

function OpenProject({ shown }: { shown: ShownProject }) {
  const { organization } = route.useParams()
  const { tab, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const { project, tags } = shown
  const { name, description, 'workspace-count': workspaces, 'team-count': teams } = project.attributes
  const isDefault = useOrganization(organization).data?.relationships['default-project'].data?.id === project.id
  const open = openTab(TABS, tab)
  const place = { to: '/app/$organization/projects/$project', params: { organization, project: project.id } }
  const onSearch = (change: typeof search, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace })
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${TABS[open].toLowerCase()}`}
      badge={
        <>
          {isDefault && <Badge text="default" title="Workspaces created without a project belong to it" />}
          {tags.map((tag) => (
            <TagBadge key={tag.key} text={tagLabel(tag)} />
          ))}
        </>
      }
      about={description ?? undefined}
      actions={<CopyCurl path={`/projects/${project.id}`} />}
    >
      <ParamTabs
        label="Project"
        tabs={TABS}
        counts={{ workspaces, ...(teams !== null && { access: teams }) }}
        open={open}
        page={place}
      />
      <div className="mt-4">
        {open === 'workspaces' && <ProjectWorkspaces {...{ organization, project, search, onSearch }} />}
        {open === 'variable-sets' && <ProjectVariableSets {...{ organization, project, search, onSearch }} />}
        {open === 'access' && <ProjectAccess organization={organization} project={project} />}
        {open === 'notifications' && (
          <Suspense fallback={<Skeleton />}>
            <NotificationsTab
              owner={{ organization, kind: 'projects', id: project.id, name }}
              mayManage={project.attributes.permissions['can-update']}
              place={{ ...place, search: { tab: open } }}
            />
          </Suspense>
        )}
        {open === 'settings' && <ProjectSettings {...{ organization, isDefault, ...shown }} />}
      </div>
    </Page>
  )
}
