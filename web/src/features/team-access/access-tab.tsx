import { Plus } from 'lucide-react'
import { useState } from 'react'
import { failureOf, includedOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { type Choice, Picker } from '../../components/picker.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AccessForm } from './access-form.tsx'
import { ownWords, projectAccessWords } from './access-words.ts'
import {
  type TeamProject,
  type TeamWorkspace,
  findTeams,
  useAddTeam,
  useTeamProjects,
  useTeamWorkspaces,
  useTeams,
} from './team-access.ts'
import { TeamRow } from './team-row.tsx'

/** Access to the workspace, in words, with its source. */
export function AccessTab() {
  const { organization, document, workspace } = useOpenWorkspace()
  const project = includedOf(document).one('projects', workspace.relationships.project)
  const own = useTeamWorkspaces(workspace.id)
  // Who may not see the project is answered that there is none.
  const inherited = useTeamProjects(project?.id)
  const teams = useTeams(organization)
  const failure = failureOf(own, inherited, teams)
  if (failure) return <ErrorNote {...failure} />
  if (!own.data || !teams.data || (project && !inherited.data)) return <Skeleton label="Loading the teams" />
  const names = new Map(teams.data.map(({ id, attributes }) => [id, attributes.name]))
  const nameOf = (id: string | undefined) => names.get(id ?? '') ?? 'another team'
  const seesAll = workspace.attributes.permissions['can-update']
  return (
    <div className="max-w-4xl space-y-4">
      <Own />
      <Teams entries={own.data} nameOf={nameOf} seesAll={seesAll} />
      {project && inherited.data && (inherited.data.length > 0 || seesAll) && (
        <Inherited entries={inherited.data} project={project.attributes.name} nameOf={nameOf} />
      )}
      <p className="text-dim">
        Owners of the organization may do everything. Other teams may have access to all of its workspaces or projects,
        which is given in the organization.
      </p>
    </div>
  )
}

type NameOf = (id: string | undefined) => string

function Own() {
  const { workspace } = useOpenWorkspace()
  const words = ownWords(workspace.attributes.permissions)
  return (
    <Card title="You">
      {words.length === 0 ? 'You may see that the workspace exists.' : `You may ${listed(words)}.`}
    </Card>
  )
}

function listed(words: readonly string[]) {
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(words)
}

function Teams({ entries, nameOf, seesAll }: { entries: readonly TeamWorkspace[]; nameOf: NameOf; seesAll: boolean }) {
  const { organization, workspace } = useOpenWorkspace()
  const [chosen, setChosen] = useState<Choice>()
  const add = useAddTeam(workspace.id)
  const taken = new Set(entries.map(({ relationships }) => relationships.team.data?.id))
  return (
    <Card
      title={seesAll ? 'Teams of this workspace' : 'Your teams'}
      isFlush
      actions={
        seesAll &&
        !chosen && (
          <Picker
            label="Add a team"
            icon={Plus}
            size="small"
            placeholder="Name of a team"
            about={['teams', organization, 'without access to', workspace.id, taken.size]}
            load={async (text, signal) =>
              (await findTeams(organization, text, signal))
                .filter(({ id, attributes }) => !taken.has(id) && attributes.name !== 'owners')
                .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
            }
            onChoose={setChosen}
          />
        )
      }
    >
      {chosen && (
        <div className="border-t border-line px-4 py-3">
          <h3 className="mb-3 font-medium">{chosen.text}</h3>
          <AccessForm
            action={`Add ${chosen.text}`}
            error={add.error}
            isPending={add.isPending}
            onCancel={() => setChosen(undefined)}
            onSubmit={(attributes) =>
              add.mutate(
                { teamId: chosen.value, attributes },
                {
                  onSuccess: () => {
                    toast({ text: `${chosen.text} has access` })
                    setChosen(undefined)
                  },
                },
              )
            }
          />
        </div>
      )}
      {entries.length === 0 && !chosen && (
        <p className="px-4 pb-4 text-dim">
          {seesAll ? 'No team has access to this workspace by itself.' : 'None has access to this workspace by itself.'}
        </p>
      )}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {entries.map((entry) => (
          <TeamRow key={entry.id} entry={entry} team={nameOf(entry.relationships.team.data?.id)} />
        ))}
      </ul>
    </Card>
  )
}

function Inherited({ entries, project, nameOf }: { entries: readonly TeamProject[]; project: string; nameOf: NameOf }) {
  return (
    <Card title={`From the project ${project}`} about="It is changed in the project." isFlush>
      {entries.length === 0 && <p className="px-4 pb-4 text-dim">No team has access to the project.</p>}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {entries.map(({ id, attributes, relationships }) => (
          <li key={id} className="px-4 py-3">
            <h3 className="flex flex-wrap items-center gap-2 font-medium">
              {nameOf(relationships.team.data?.id)} <Badge>{attributes.access}</Badge>
            </h3>
            <p className="text-dim">{projectAccessWords(attributes)}</p>
          </li>
        ))}
      </ul>
    </Card>
  )
}
