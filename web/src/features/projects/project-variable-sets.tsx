import { Braces, Plus, X } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { SetName } from '../variable-sets/set-name.tsx'
import {
  type VariableSet,
  findVariableSets,
  owningProject,
  useChangeScope,
  useProjectSets,
} from '../variable-sets/variable-sets.ts'
import type { ProjectTabProps } from './project-workspaces.tsx'

/** The variable sets that apply to all workspaces of the project. */
export function ProjectVariableSets({ organization, project, search, onSearch }: ProjectTabProps) {
  const sets = useProjectSets(organization, project.id, search)
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-varsets'] === true
  const change = useChangeScope()
  const act = (method: 'POST' | 'DELETE', setId: string, done: string) =>
    change.mutate({ method, kind: 'projects', setId, id: project.id }, { onSuccess: () => toast({ text: done }) })
  const actions = (
    <>
      {mayManage && (
        <Picker
          label="Apply a set"
          placeholder="Name of a variable set"
          about={['varsets', organization, 'to apply to', project.id]}
          load={async (...text) => findVariableSets(organization, new Set(sets.data?.data.map(({ id }) => id)), text)}
          onChoose={({ value, text }) => act('POST', value, `${text} applies to ${project.attributes.name}`)}
        />
      )}
      {project.attributes.permissions['can-manage-varsets'] && (
        <TargetLink
          leadsTo={{
            to: '/app/$organization/variable-sets',
            params: { organization },
            search: { new: true, project: project.id },
          }}
          className={buttonClass({ kind: 'primary' })}
        >
          <Plus size={16} />
          New variable set
        </TargetLink>
      )}
    </>
  )
  const columns: readonly Column<VariableSet>[] = [
    { header: 'Name', className: 'min-w-40', cell: (set) => <SetName organization={organization} set={set} /> },
    { header: 'Applies through', cell: (set) => <span className="text-dim">{reachOf(set, project.id)}</span> },
    {
      header: 'Variables',
      className: 'w-px text-right',
      cell: ({ attributes: { 'var-count': count } }) => <Count value={count} />,
    },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'w-px text-right',
      cell: (set) =>
        isApplied(set, project.id) &&
        set.attributes.permissions['can-update'] && (
          <RowMenu
            label={`Actions for ${set.attributes.name}`}
            actions={[
              {
                text: 'Remove from project',
                icon: X,
                confirm: {
                  title: `Remove ${set.attributes.name} from ${project.attributes.name}?`,
                  consequence: 'The next runs of its workspaces won’t have the variables of the set.',
                  action: 'Remove set',
                  done: `${set.attributes.name} removed`,
                  onConfirm: async () =>
                    change.mutateAsync({ method: 'DELETE', kind: 'projects', setId: set.id, id: project.id }),
                },
              },
            ]}
          />
        ),
    },
  ]
  return (
    <>
      {change.error && <ErrorNote error={change.error} />}
      <SearchedList
        noun="variable sets"
        query={sets}
        search={search}
        onSearch={onSearch}
        filters={<div className="flex flex-1 flex-wrap justify-end gap-2">{actions}</div>}
        empty={
          <EmptyState icon={Braces} title="No variable set applies to this project" actions={actions}>
            <p>
              A variable set gives variables to many workspaces, such as credentials.{' '}
              <DocsLink page="concepts">Variables in the documentation</DocsLink>
            </p>
          </EmptyState>
        }
      >
        {(rows) => <Table label={`Variable sets of ${project.attributes.name}`} rows={rows} columns={columns} />}
      </SearchedList>
    </>
  )
}

function isApplied(set: VariableSet, projectId: string) {
  return set.relationships.projects.data.some(({ id }) => id === projectId)
}

function reachOf(set: VariableSet, projectId: string) {
  if (owningProject(set) === projectId) return 'belongs to the project'
  return isApplied(set, projectId) ? 'applied to the project' : 'all workspaces of the organization'
}
