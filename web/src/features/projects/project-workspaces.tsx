import { Boxes, FolderInput, Plus } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { InlineForm, usePickedForm } from '../../components/inline-form.tsx'
import { ListLink, useGo } from '../../components/links.tsx'
import { Picker } from '../../components/picker.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { WorkspacesTable } from '../workspaces/workspaces-table.tsx'
import { findWorkspaces, useWorkspaces } from '../workspaces/workspaces.ts'
import { type Project, useMoveWorkspaces } from './projects.ts'

type Search = { q?: string | undefined; page?: number | undefined }
export type ProjectTabProps = {
  organization: string
  project: Project
  search: Search
  onSearch: (change: Search, replace: boolean) => void
}

/** The workspaces of a project. The list of workspaces has more filters. */
export function ProjectWorkspaces({ organization, project, search, onSearch }: ProjectTabProps) {
  const { data, ...query } = useWorkspaces(organization, { ...search, project: project.id })
  const go = useGo()
  const { permissions, name } = project.attributes
  const ofProject = { project: project.id }
  const actions = permissions['can-create-workspace'] && (
    <>
      <MoveHere organization={organization} project={project} />
      <ListLink list="workspaces" search={{ ...ofProject, new: true }} className={buttonClass({ kind: 'primary' })}>
        <Plus size={16} />
        New workspace
      </ListLink>
    </>
  )
  return (
    <SearchedList
      noun="workspaces"
      query={{ ...query, data: data && { data: data.rows, meta: data } }}
      search={search}
      onSearch={onSearch}
      filters={
        <div className="flex flex-1 flex-wrap items-start justify-end gap-2">
          <ListLink list="workspaces" search={ofProject} className="mr-auto self-center text-accent underline">
            All filters and bulk actions
          </ListLink>
          {actions}
        </div>
      }
      empty={
        <EmptyState icon={Boxes} title="No workspaces in this project" actions={actions}>
          <p>
            {permissions['can-create-workspace']
              ? `Create one, move one here, or name the project in a cloud block: workspaces { project = "${name}" }`
              : 'Or none that you can see: a project administrator can give your team access.'}
          </p>
        </EmptyState>
      }
    >
      {(rows) => (
        <WorkspacesTable
          organization={organization}
          rows={rows}
          isOfProject
          sort="name"
          onTag={(tag) =>
            go({ to: '/app/$organization/workspaces', params: { organization }, search: { ...ofProject, tag } })
          }
        />
      )}
    </SearchedList>
  )
}

function MoveHere({ organization, project }: Pick<ProjectTabProps, 'organization' | 'project'>) {
  const { selected, select, place, close } = usePickedForm()
  const move = useMoveWorkspaces(project.id)
  if (!selected) {
    return (
      <div ref={place}>
        <Picker
          label="Move workspace here"
          icon={FolderInput}
          placeholder="Workspace name"
          about={['workspaces', organization, 'outside of', project.id]}
          load={findWorkspaces(organization, undefined, { outsideOf: project.id })}
          onChoose={select}
        />
      </div>
    )
  }
  return (
    <div className="w-full rounded-lg border border-line-strong bg-paper p-4 text-left">
      <InlineForm
        action="Move workspace"
        mutation={move}
        onCancel={() => close()}
        onSubmit={() => move.mutate([selected.value], { onSuccess: () => close(`${selected.text} moved`) })}
      >
        <p className="font-medium">
          Move {selected.text} to {project.attributes.name}?
        </p>
        <p className="text-dim">
          Teams of its current project lose access and teams of this one gain it. Variable sets, tags and inherited
          settings change too.
        </p>
      </InlineForm>
    </div>
  )
}
