import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, useChange } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { loaded } from '../../components/feedback.tsx'
import { RadioField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { PickList } from '../../components/pick-list.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'
import { findWorkspaces, workspaceItem } from './workspaces.ts'

const SCOPES = {
  selected: { text: 'Selected workspaces', about: 'Only the workspaces in the list below.' },
  project: { text: 'Project', about: 'Every workspace of the same project.' },
  organization: { text: 'Organization', about: 'Every workspace of the organization.' },
} as const
type Scope = keyof typeof SCOPES

/** Workspaces that may read the state through `terraform_remote_state` and `tfe_outputs`. */
export function SharingSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { permissions, 'global-remote-state': isGlobal, 'project-remote-state': isProject } = workspace.attributes
  const update = useUpdateWorkspace(organization)
  const scope: Scope = isGlobal ? 'organization' : isProject ? 'project' : 'selected'
  const draft = useDraft<{ scope: string }>({ scope })
  const project = includedOf(document).one('projects', workspace.relationships.project)

  const readers = {
    selected: 'Only selected workspaces',
    project: `Every workspace of the project ${project?.attributes.name ?? ''}`,
    organization: 'Every workspace of the organization',
  }
  return (
    <div className="space-y-4">
      <SettingsForm
        title="Remote state sharing"
        readOnly={!permissions['can-update'] && <p>{readers[scope]} can read the state.</p>}
        about="Other workspaces can read the state of this workspace, including its outputs."
        names={['global-remote-state', 'project-remote-state']}
        draft={draft}
        onSave={async () =>
          update.mutateAsync({
            id: workspace.id,
            attributes: {
              'global-remote-state': draft.values.scope === 'organization',
              'project-remote-state': draft.values.scope === 'project',
            },
          })
        }
      >
        <RadioField
          label="Share with"
          name="state-sharing"
          value={draft.values.scope}
          onChange={(value) => draft.set({ scope: value })}
          options={(Object.keys(SCOPES) as Scope[]).map((value) => ({ value, ...SCOPES[value] }))}
        />
      </SettingsForm>
      {scope === 'selected' && <Consumers mayChange={permissions['can-update']} />}
    </div>
  )
}

function Consumers({ mayChange }: { mayChange: boolean }) {
  const { organization, workspace } = useOpenWorkspace()
  const [page, setPage] = useState(1)
  const path = `/workspaces/${workspace.id}/relationships/remote-state-consumers`
  const consumers = useQuery({
    queryKey: ['workspaces', workspace.id, 'consumers', page],
    queryFn: async () =>
      get<PageOnWire<typeof workspaceSchema>>(`${path}${queryString({ 'page[size]': 20, 'page[number]': page })}`),
  })
  const { data, fallback } = loaded(consumers, { rows: 1 })
  const change = useChange(
    async ({ method, id }: { method: 'POST' | 'DELETE'; id: string }) =>
      request(method, path, { data: [{ type: 'workspaces', id }] }),
    ['workspaces', workspace.id, 'consumers'],
  )
  const act = (method: 'POST' | 'DELETE', id: string, done: string) =>
    change.mutate({ method, id }, { onSuccess: () => toast({ text: done }) })
  return (
    <Card title="Selected workspaces" about="Changes to this list apply immediately.">
      {!data && fallback}
      {data && (
        <PickList
          label="Selected workspaces"
          items={data.data.map(({ id, attributes: { name } }) => workspaceItem(organization, id, name))}
          none="No workspaces selected."
          mayChange={mayChange}
          addLabel="Add workspace"
          removeLabel={(name) => `Stop sharing with ${name}`}
          placeholder="Workspace name"
          about={['workspaces', organization]}
          load={findWorkspaces(organization, new Set([workspace.id]))}
          error={change.error}
          onAdd={({ id, text }) => act('POST', id, `${text} can read the state`)}
          onRemove={({ id, text }) => act('DELETE', id, `${text} can no longer read the state`)}
        />
      )}
      <Pager pagination={data?.meta.pagination} onPage={setPage} />
    </Card>
  )
}
