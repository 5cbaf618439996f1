import { getRouteApi } from '@tanstack/react-router'
import { Folder, Plus } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { ListLink, ProjectLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { type Project, useProjects } from './projects.ts'

const NewProjectDialog = lazy(async () => import('./new-project-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/projects')

export function ProjectsPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const { data } = useOrganization(organization)
  const mayCreate = data?.attributes.permissions['can-create-project'] ?? false
  const defaultId = data?.relationships['default-project'].data?.id
  const projects = useProjects(organization, search)
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayCreate && <Button label="New project" kind="primary" icon={Plus} onClick={() => setNew(true)} />
  return (
    <Page
      title="Projects"
      about="A project groups workspaces: it gives teams access to all of them, and settings, tags and variable sets."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/projects`} />
          {create}
        </>
      }
    >
      <SearchedList
        noun="projects"
        query={projects}
        search={search}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={
          <EmptyState icon={Folder} title="No projects that you can see" actions={create}>
            <p>
              An owner of the organization can give your team access to one.{' '}
              <DocsLink page="concepts">Projects in the documentation</DocsLink>
            </p>
          </EmptyState>
        }
      >
        {(rows) => (
          <Table
            label={`Projects of ${organization}`}
            rows={rows}
            columns={columnsOf(defaultId)}
            sort={search.sort ?? 'name'}
            onSort={(sort) => void navigate({ search: (before) => ({ ...before, sort, page: undefined }) })}
          />
        )}
      </SearchedList>
      {isNew && mayCreate && (
        <Suspense>
          <NewProjectDialog organization={organization} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function columnsOf(defaultId: string | undefined): readonly Column<Project>[] {
  return [
    {
      header: 'Name',
      sort: 'name',
      className: 'min-w-40',
      cell: ({ id, attributes: { name, description } }) => (
        <>
          <span className="flex flex-wrap items-center gap-2">
            <span className="font-medium">
              <ProjectLink id={id} name={name} />
            </span>
            {id === defaultId && <Badge text="default" title="Workspaces created without a project belong to it" />}
          </span>
          {description && <span className="line-clamp-1 text-dim">{description}</span>}
        </>
      ),
    },
    {
      header: 'Workspaces',
      className: 'w-px text-right',
      cell: ({ id, attributes: { 'workspace-count': count } }) =>
        count === 0 ? (
          <span className="numeric text-dim">0</span>
        ) : (
          <ListLink list="workspaces" search={{ project: id }} className="numeric hover:underline">
            {count.toLocaleString('en')}
          </ListLink>
        ),
    },
    {
      header: 'Teams',
      className: 'w-px text-right',
      cell: ({ id, attributes: { 'team-count': count } }) =>
        count !== null && (
          <span className={`numeric ${count === 0 ? 'text-dim' : ''}`}>
            <ProjectLink id={id} name={count.toLocaleString('en')} tab="access" />
          </span>
        ),
    },
    {
      header: 'Created',
      className: 'hidden w-px whitespace-nowrap text-dim md:table-cell',
      cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
    },
  ]
}
