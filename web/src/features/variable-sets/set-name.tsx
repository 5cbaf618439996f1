import { ProjectLink, TargetLink } from '../../components/links.tsx'
import { Badge } from '../../components/status.tsx'
import { useProjectName } from '../workspaces/workspaces.ts'
import { type VariableSet, owningProject } from './variable-sets.ts'

/** A set in a table: its name as a link, and its description. */
export function SetName({ organization, set }: { organization: string; set: VariableSet }) {
  const { name, description } = set.attributes
  const target = { to: '/app/$organization/variable-sets/$set', params: { organization, set: set.id } }
  return (
    <>
      <span className="flex flex-wrap items-center gap-2">
        <TargetLink leadsTo={target} className="font-medium hover:underline">
          {name}
        </TargetLink>
        <PriorityBadge set={set} />
      </span>
      {description !== '' && <span className="line-clamp-1 text-dim">{description}</span>}
    </>
  )
}

export function PriorityBadge({ set }: { set: VariableSet }) {
  return (
    set.attributes.priority && (
      <Badge tone="accent" text="priority" title="Takes precedence over the workspaces’ own variables" />
    )
  )
}

/** The owner of a set: its project as a link, or the organization. */
export function Owner({ set }: { set: VariableSet }) {
  const project = owningProject(set)
  const { data: name = 'project' } = useProjectName(project)
  if (project === undefined) return <span className="text-dim">organization</span>
  return <ProjectLink id={project} name={name} />
}
