import { getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { invalidate } from '../../api/queries.ts'
import { Notice } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { usePickedForm } from '../../components/inline-form.tsx'
import { type Choice, Picker } from '../../components/picker.tsx'
import { ProjectAccessForm, WorkspaceAccessForm } from '../team-access/access-forms.tsx'
import { GrantsTable } from '../team-access/grants-table.tsx'
import { useSaveGrant } from '../team-access/grants.ts'
import { findGrantable } from '../team-access/team-grants.ts'
import { type Team, isOwners } from './teams.ts'

const route = getRouteApi('/frame/app/$organization/teams/$team')

const KINDS = {
  project: {
    title: 'Projects',
    about: 'Access to a project includes all of its workspaces, including those created or moved there later.',
    none: 'No access to single projects.',
    pageParam: 'projects',
  },
  workspace: {
    title: 'Workspaces',
    about: 'Access to single workspaces, in addition to that of their projects.',
    none: 'No access to single workspaces.',
    pageParam: 'page',
  },
} as const
type Kind = keyof typeof KINDS

/** The team's access to projects and workspaces. */
export function TeamAccess({ organization, team }: { organization: string; team: Team }) {
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  if (isOwners(team))
    return <Notice>Owners have full access to all projects and workspaces of the organization.</Notice>
  return (
    <div className="space-y-4">
      <SearchField
        label="Search by name"
        value={q ?? ''}
        onChange={(text) =>
          void navigate({
            search: (before) => ({ ...before, q: text || undefined, page: undefined, projects: undefined }),
            replace: true,
          })
        }
      />
      <AccessCard organization={organization} team={team} kind="project" />
      <AccessCard organization={organization} team={team} kind="workspace" />
    </div>
  )
}

function AccessCard({ organization, team, kind }: { organization: string; team: Team; kind: Kind }) {
  const { q, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const { selected, select, place, close } = usePickedForm()
  const { pageParam, ...texts } = KINDS[kind]
  return (
    <GrantsTable
      {...{ organization, kind }}
      {...texts}
      holder={{ teamId: team.id }}
      search={{ q, page: search[pageParam] }}
      onPage={(page) => void navigate({ search: (before) => ({ ...before, [pageParam]: page }) })}
      actions={
        !selected && (
          <div ref={place}>
            <Picker
              label={`Add ${kind}`}
              icon={Plus}
              size="small"
              placeholder="Name"
              about={[`${kind}s`, organization, 'for', team.id]}
              load={findGrantable(organization, kind)}
              onChoose={select}
            />
          </div>
        )
      }
    >
      {selected && <NewGrant {...{ organization, team, kind }} selected={selected} onClose={close} />}
    </GrantsTable>
  )
}

type NewGrantProps = {
  organization: string
  team: Team
  kind: Kind
  selected: Choice
  onClose: (done?: string) => void
}

function NewGrant({ organization, team, kind, selected, onClose }: NewGrantProps) {
  const save = useSaveGrant({ kind, id: selected.value, name: selected.text })
  const form = {
    saved: undefined,
    action: `Add ${selected.text}`,
    mutation: save,
    onCancel: () => onClose(),
    onSubmit: (attributes: object) =>
      save.mutate(
        { teamId: team.id, attributes },
        {
          onSuccess: () => {
            void invalidate([`team-${kind}s`, organization])
            onClose(`Access to ${selected.text} granted`)
          },
        },
      ),
  }
  return (
    <div className="border-t border-line px-4 py-3">
      <h3 className="mb-3 font-medium">{selected.text}</h3>
      {kind === 'project' ? <ProjectAccessForm {...form} /> : <WorkspaceAccessForm {...form} />}
    </div>
  )
}
