import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { TeamWorkspaceInput, teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { teamSchema } from '@groundstate/contract/teams'
import { useQuery } from '@tanstack/react-query'
import { Plus, UserMinus } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { getData, queryString, request } from '../../api/client.ts'
import { failureOf, includedOf, sendAndRefetch, useChange } from '../../api/queries.ts'
import { Card, CardList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { CheckField, RadioField, SelectField } from '../../components/form.tsx'
import { EditableRow, InlineForm } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { type Choice, Picker } from '../../components/picker.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import {
  FLAGS,
  LEVELS,
  PARTS,
  type TeamAccess,
  accessText,
  ownPermissionTexts,
  projectAccessText,
} from './access-text.ts'
type TeamWorkspace = Wire<typeof teamWorkspaces.resource>
type TeamProject = Wire<typeof teamProjects.resource>

export function AccessTab() {
  const { organization, document, workspace } = useOpenWorkspace()
  const project = includedOf(document).one('projects', workspace.relationships.project)
  const own = useTeamWorkspaces(workspace.id)
  const inherited = useTeamProjects(project?.id)
  const teams = useTeams(organization)
  const failure = failureOf(own, inherited, teams)
  if (failure) return <ErrorNote {...failure} />
  if (!own.data || !teams.data || (project && !inherited.data)) return <Skeleton label="Loading the teams" />
  const names = new Map(teams.data.map(({ id, attributes }) => [id, attributes.name]))
  const nameOf = (id: string | undefined) => names.get(id ?? '') ?? 'another team'
  const { permissions } = workspace.attributes
  const seesAll = permissions['can-update']
  const words = new Intl.ListFormat('en', { type: 'conjunction' }).format(ownPermissionTexts(permissions))
  return (
    <div className="max-w-4xl space-y-4">
      <Card title="Your access">{words === '' ? 'You can see that the workspace exists.' : `You can ${words}.`}</Card>
      <Teams entries={own.data} nameOf={nameOf} seesAll={seesAll} />
      {project && inherited.data && (inherited.data.length > 0 || seesAll) && (
        <Inherited entries={inherited.data} project={project.attributes.name} nameOf={nameOf} />
      )}
      <p className="text-dim">
        Owners of the organization have full access. Other teams may have access to all workspaces or projects, which is
        configured in the organization.
      </p>
    </div>
  )
}

type NameOf = (id: string | undefined) => string
type TeamsProps = { entries: readonly TeamWorkspace[]; nameOf: NameOf; seesAll: boolean }

function Teams({ entries, nameOf, seesAll }: TeamsProps) {
  const { organization, workspace } = useOpenWorkspace()
  const [selected, setSelected] = useState<Choice>()
  const add = useAddTeam(workspace.id)
  const ids = new Set(entries.map(({ relationships }) => relationships.team.data?.id))
  return (
    <Card
      title={seesAll ? 'Teams with access' : 'Your teams'}
      isFlush
      actions={
        seesAll &&
        !selected && (
          <Picker
            label="Add team"
            icon={Plus}
            size="small"
            placeholder="Team name"
            about={['teams', organization, 'without access to', workspace.id, ids.size]}
            load={async (text, signal) =>
              (await findTeams(organization, text, signal))
                .filter(({ id, attributes }) => !ids.has(id) && attributes.name !== 'owners')
                .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
            }
            onChoose={setSelected}
          />
        )
      }
    >
      {selected && (
        <div className="border-t border-line px-4 py-3">
          <h3 className="mb-3 font-medium">{selected.text}</h3>
          <AccessForm
            action={`Add ${selected.text}`}
            mutation={add}
            onCancel={() => setSelected(undefined)}
            onSubmit={(attributes) => {
              const onSuccess = () => {
                toast({ text: `${selected.text} added` })
                setSelected(undefined)
              }
              add.mutate({ teamId: selected.value, attributes }, { onSuccess })
            }}
          />
        </div>
      )}
      {(entries.length > 0 || !selected) && (
        <CardList
          items={entries}
          none={seesAll ? 'No team has access to this workspace.' : 'None has access to this workspace.'}
        >
          {(entry) => <TeamRow key={entry.id} entry={entry} team={nameOf(entry.relationships.team.data?.id)} />}
        </CardList>
      )}
    </Card>
  )
}

function TeamRow({ entry, team }: { entry: TeamWorkspace; team: string }) {
  const { workspace } = useOpenWorkspace()
  const change = useChangeTeam(workspace.id)
  const { name, permissions } = workspace.attributes
  return (
    <EditableRow
      title={
        <>
          {team} <Badge text={LEVELS[entry.attributes.access].text} />
        </>
      }
      editLabel={`Edit access of ${team}`}
      mayEdit={permissions['can-update']}
      remove={
        <Confirm
          label="Remove"
          icon={UserMinus}
          size="small"
          title={`Remove ${team} from ${name}?`}
          consequence="Its members keep access granted by the project or the organization."
          action={`Remove ${team}`}
          done={`${team} removed`}
          onConfirm={async () => sendAndRefetch('DELETE', `/team-workspaces/${entry.id}`, ...keys(workspace.id))}
        />
      }
      renderForm={(close) => (
        <AccessForm
          saved={entry.attributes}
          action="Save"
          mutation={change}
          onCancel={close}
          onSubmit={(attributes) =>
            change.mutate({ id: entry.id, attributes }, { onSuccess: () => close(`Access of ${team} saved`) })
          }
        />
      )}
    >
      <p className="text-dim">{accessText(entry.attributes)}</p>
    </EditableRow>
  )
}

const LEVEL_NAMES = Object.keys(LEVELS) as TeamAccess['access'][]
const PART_NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[]
const FLAG_NAMES = Object.keys(FLAGS) as (keyof typeof FLAGS)[]

type Access = Omit<TeamAccess, 'sentinel-mocks'>
const MINIMUM: Access = {
  access: 'read',
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'run-tasks': false,
  'policy-overrides': false,
  'workspace-locking': false,
}

type AccessFormProps = Pick<ComponentProps<typeof InlineForm>, 'action' | 'mutation' | 'onCancel'> & {
  saved?: Access
  onSubmit: (attributes: TeamWorkspaceInput) => void
}

function AccessForm({ saved = MINIMUM, onSubmit, ...form }: AccessFormProps) {
  const [access, setAccess] = useState(saved)
  function submit() {
    const { access: level, runs, variables, 'state-versions': states } = access
    if (level !== 'custom') return onSubmit({ access: level })
    // The server accepts individual permissions only for custom access.
    const flags = Object.fromEntries(FLAG_NAMES.map((flag) => [flag, access[flag]]))
    return onSubmit({ access: level, runs, variables, 'state-versions': states, ...flags })
  }
  return (
    <InlineForm {...form} onSubmit={submit}>
      <RadioField
        label="Access level"
        name="access"
        value={access.access}
        onChange={(level) => setAccess({ ...access, access: level as TeamAccess['access'] })}
        options={LEVEL_NAMES.map((value) => ({ value, ...LEVELS[value] }))}
      />
      {access.access === 'custom' && (
        <div className="space-y-3 border-l-2 border-line pl-4">
          {PART_NAMES.map((part) => (
            <SelectField
              key={part}
              label={PARTS[part].text}
              value={access[part]}
              onChange={({ target }) => setAccess({ ...access, [part]: target.value })}
              options={Object.entries(PARTS[part].choices)}
            />
          ))}
          {FLAG_NAMES.map((flag) => (
            <CheckField
              key={flag}
              label={FLAGS[flag]}
              checked={access[flag]}
              onChange={({ target }) => setAccess({ ...access, [flag]: target.checked })}
            />
          ))}
        </div>
      )}
    </InlineForm>
  )
}

type InheritedProps = { entries: readonly TeamProject[]; project: string; nameOf: NameOf }

function Inherited({ entries, project, nameOf }: InheritedProps) {
  return (
    <Card title={`Inherited from project ${project}`} about="Configured in the project." isFlush>
      <CardList items={entries} none="No team has access to the project.">
        {({ id, attributes, relationships }) => (
          <li key={id} className="px-4 py-3">
            <h3 className="flex flex-wrap items-center gap-2 font-medium">
              {nameOf(relationships.team.data?.id)} <Badge text={attributes.access} />
            </h3>
            <p className="text-dim">{projectAccessText(attributes)}</p>
          </li>
        )}
      </CardList>
    </Card>
  )
}

/** Teams' access to the workspace: all teams for its administrators, the user's own teams otherwise. */
function useTeamWorkspaces(workspaceId: string) {
  const query = queryString({ 'filter[workspace][id]': workspaceId })
  return useQuery({
    queryKey: ['team-workspaces', workspaceId],
    queryFn: async () => getData<PageOnWire<typeof teamWorkspaces.resource>>(`/team-workspaces${query}`),
  })
}

/** Teams' access to the workspace's project; none where the user may not see the project. */
function useTeamProjects(projectId: string | undefined) {
  const query = queryString({ 'filter[project][id]': projectId })
  return useQuery({
    queryKey: ['team-projects', projectId],
    enabled: projectId !== undefined,
    queryFn: async () => getData<PageOnWire<typeof teamProjects.resource>>(`/team-projects${query}`),
  })
}

async function findTeams(organization: string, text: string, signal?: AbortSignal) {
  const query = queryString({ q: text, 'page[size]': 100 })
  return getData<PageOnWire<typeof teamSchema>>(`/organizations/${organization}/teams${query}`, signal)
}

function useTeams(organization: string) {
  return useQuery({
    queryKey: ['teams', organization, 'first'],
    staleTime: 60_000,
    queryFn: async () => findTeams(organization, ''),
  })
}

/** The queries to invalidate: changing a team's access may change the user's own. */
const keys = (workspaceId: string) => [['team-workspaces', workspaceId], ['workspaces']]

function useAddTeam(workspaceId: string) {
  const workspace = { data: { type: 'workspaces', id: workspaceId } }
  return useChange(
    async ({ teamId, attributes }: { teamId: string; attributes: TeamWorkspaceInput }) => {
      const relationships = { team: { data: { type: 'teams', id: teamId } }, workspace }
      return request('POST', '/team-workspaces', { data: { type: 'team-workspaces', attributes, relationships } })
    },
    ...keys(workspaceId),
  )
}

function useChangeTeam(workspaceId: string) {
  return useChange(
    async ({ id, attributes }: { id: string; attributes: TeamWorkspaceInput }) =>
      request('PATCH', `/team-workspaces/${id}`, { data: { type: 'team-workspaces', attributes } }),
    ...keys(workspaceId),
  )
}
