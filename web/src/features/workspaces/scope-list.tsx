import { PickList, type PickListProps } from '../../components/pick-list.tsx'
import { findProjects, findWorkspaces, projectItem, workspaceItem } from './workspaces.ts'

const KINDS = {
  projects: { noun: 'project', placeholder: 'Project name', itemOf: projectItem },
  workspaces: { noun: 'workspace', placeholder: 'Workspace name', itemOf: workspaceItem },
} as const

type ScopeListProps = Pick<PickListProps, 'none' | 'mayChange' | 'removeLabel' | 'error' | 'onAdd' | 'onRemove'> & {
  organization: string
  kind: keyof typeof KINDS
  title: string
  /** The accessible name of the list, if not the title. */
  label?: string
  /** The id of the resource whose scope the list is. */
  ownerId: string
  selected: readonly { id: string; name: string }[]
  /** Offers only the workspaces of a project. */
  inProject?: string | undefined
}

/** Projects or workspaces in the scope of a resource, under a heading. */
export function ScopeList({
  organization,
  kind,
  title,
  label = title,
  ownerId,
  selected,
  inProject,
  ...list
}: ScopeListProps) {
  const { noun, placeholder, itemOf } = KINDS[kind]
  const except = new Set(selected.map(({ id }) => id))
  return (
    <div>
      <h3 className="mb-1 font-medium">{title}</h3>
      <PickList
        {...list}
        label={label}
        items={selected.map(({ id, name }) => itemOf(organization, id, name))}
        addLabel={`Add ${noun}`}
        placeholder={placeholder}
        about={[kind, organization, 'outside of', ownerId, label]}
        load={
          kind === 'projects'
            ? findProjects(organization, { except })
            : findWorkspaces(organization, except, { inProject })
        }
      />
    </div>
  )
}
