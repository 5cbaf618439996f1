import { Boxes } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { RadioField } from '../../components/form.tsx'
import { ProjectLink, WorkspaceLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ScopeList } from '../workspaces/scope-list.tsx'
import {
  type ScopeChange,
  type SetWorkspace,
  type ShownSet,
  owningProject,
  scopeOptions,
  useChangeScope,
  useSetWorkspaces,
  useUpdateVariableSet,
} from './variable-sets.ts'

type Search = { q?: string | undefined; page?: number | undefined }
type SetWorkspacesProps = {
  organization: string
  shown: ShownSet
  search: Search
  onSearch: (change: Search, replace: boolean) => void
}

/** The scope of a set, and the workspaces to which it applies, with the variables that are overridden there. */
export function SetWorkspaces({ organization, shown, search, onSearch }: SetWorkspacesProps) {
  const { set } = shown
  const workspaces = useSetWorkspaces(set.id, search)
  return (
    <div className="space-y-4">
      {set.attributes.permissions['can-update'] && (
        <div className="max-w-4xl space-y-4">
          <Scope organization={organization} shown={shown} />
        </div>
      )}
      <section aria-labelledby="effective" className="space-y-2">
        <h2 id="effective" className="text-base font-semibold">
          Workspaces
        </h2>
        <p className="max-w-3xl text-dim">
          {set.attributes.priority
            ? 'Runs of these workspaces get the variables of the set, whatever is set elsewhere. Only a priority set with a wider scope overrides them.'
            : 'Runs of these workspaces get the variables of the set, unless the workspace, the CLI, a priority set or a set with a narrower scope has a variable of the same name.'}
        </p>
        <SearchedList
          noun="workspaces"
          query={workspaces}
          search={search}
          onSearch={onSearch}
          empty={
            <EmptyState icon={Boxes} title="The set applies to no workspace yet">
              <p>Select projects or workspaces above, or apply it to all workspaces.</p>
            </EmptyState>
          }
        >
          {(rows) => (
            <Table
              label={`Workspaces of ${set.attributes.name}`}
              rows={rows}
              columns={columnsOf(owningProject(set) !== undefined)}
            />
          )}
        </SearchedList>
      </section>
    </div>
  )
}

type Row = SetWorkspace & { project: string | undefined }

function columnsOf(isOfProject: boolean): readonly Column<Row>[] {
  return [
    {
      header: 'Workspace',
      className: 'min-w-32',
      cell: ({ attributes: { name } }) => <WorkspaceLink workspace={name} className="font-medium hover:underline" />,
    },
    {
      header: 'Applies through',
      cell: ({ attributes: { scope }, project, relationships }) => {
        if (scope === 'workspace') return 'workspace'
        if (scope === 'global') return 'all workspaces'
        return (
          <>
            {isOfProject ? '' : 'project '}
            <ProjectLink id={relationships.project.data?.id ?? ''} name={project ?? 'project'} />
          </>
        )
      },
    },
    { header: 'Overridden variables', cell: (row) => <Overridden row={row} /> },
  ]
}

function Overridden({ row: { attributes } }: { row: Row }) {
  const { name, overridden } = attributes
  if (overridden === null) return <span className="text-dim">hidden</span>
  if (overridden.length === 0) return <span className="text-dim">none</span>
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1">
      {overridden.map(({ key, category, by }) => (
        <li key={`${category} ${key}`} className="flex flex-wrap items-center gap-1">
          <WorkspaceLink workspace={name} tab="variables" search={{ q: key }} className="font-mono hover:underline">
            {key}
          </WorkspaceLink>
          <Badge tone="warn" text={by === null ? 'by the workspace' : `by set ${by}`} />
        </li>
      ))}
    </ul>
  )
}

function Scope({
  organization,
  shown: { set, workspaces, projects },
}: Pick<SetWorkspacesProps, 'organization' | 'shown'>) {
  const update = useUpdateVariableSet(set.id)
  const change = useChangeScope()
  const project = owningProject(set)
  const draft = useDraft({ scope: set.attributes.global ? 'global' : 'selected' })
  function list(kind: ScopeChange['kind']) {
    const act = (method: ScopeChange['method'], id: string, done: string) =>
      change.mutate({ method, kind, id, setId: set.id }, { onSuccess: () => toast({ text: done }) })
    return {
      organization,
      kind,
      ownerId: set.id,
      mayChange: true,
      onAdd: ({ id, text }: { id: string; text: string }) => act('POST', id, `Applies to ${text}`),
      onRemove: ({ id, text }: { id: string; text: string }) => act('DELETE', id, `No longer applied to ${text}`),
    }
  }
  return (
    <>
      <SettingsForm
        title="Applies to"
        names={['global']}
        draft={draft}
        onSave={async () => update.mutateAsync({ global: draft.values.scope === 'global' })}
        done="Scope saved"
      >
        <RadioField
          label="Scope"
          name="scope"
          value={draft.values.scope}
          onChange={(scope) => draft.set({ scope })}
          options={scopeOptions(project !== undefined)}
        />
      </SettingsForm>
      {draft.values.scope === 'selected' && (
        <Card
          title={project === undefined ? 'Selected projects and workspaces' : 'Selected workspaces'}
          about="Changes apply immediately."
        >
          <div className="grid gap-4 sm:grid-cols-2">
            {project === undefined && (
              <ScopeList
                {...list('projects')}
                title="Projects"
                none="No projects selected."
                selected={projects.map(({ id, attributes: { name } }) => ({ id, name }))}
                removeLabel={(name) => `Remove project ${name}`}
              />
            )}
            <ScopeList
              {...list('workspaces')}
              title="Workspaces"
              label="Selected workspaces"
              none="No workspaces selected."
              selected={workspaces.map(({ id, attributes: { name } }) => ({ id, name }))}
              inProject={project}
              removeLabel={(name) => `Remove workspace ${name}`}
              error={change.error}
            />
          </div>
        </Card>
      )}
    </>
  )
}
