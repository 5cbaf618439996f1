import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, useChange } from '../../api/queries.ts'
import { Card, CardList } from '../../components/card.tsx'
import { ErrorNote, loaded } from '../../components/feedback.tsx'
import { RadioField } from '../../components/form.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'
import { findWorkspaces } from './workspaces.ts'

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
  const add = mayChange && (
    <Picker
      label="Add workspace"
      icon={Plus}
      size="small"
      placeholder="Workspace name"
      about={['workspaces', organization]}
      load={findWorkspaces(organization, new Set([workspace.id]))}
      onChoose={({ value, text }) =>
        change.mutate({ method: 'POST', id: value }, { onSuccess: () => toast({ text: `${text} can read the state` }) })
      }
    />
  )
  return (
    <Card title="Selected workspaces" about="Changes to this list apply immediately." actions={add} isFlush>
      {!data && <div className="px-4 pb-4">{fallback}</div>}
      {change.error && (
        <div className="px-4 pb-4">
          <ErrorNote error={change.error} />
        </div>
      )}
      {data && (
        <CardList items={data.data} none="No workspaces selected.">
          {({ id, attributes: { name } }) => (
            <li key={id} className="flex items-center gap-2 px-4 py-1.5">
              <WorkspaceLink workspace={name} className="min-w-0 flex-1 hover:underline" />
              {mayChange && (
                <RowMenu
                  label={`Actions of ${name}`}
                  actions={[
                    {
                      text: 'Stop sharing',
                      icon: X,
                      confirm: {
                        title: `Stop sharing with ${name}?`,
                        consequence: 'Its next run fails if it reads this state.',
                        action: 'Stop sharing',
                        done: `${name} can no longer read the state`,
                        onConfirm: async () => change.mutateAsync({ method: 'DELETE', id }),
                      },
                    },
                  ]}
                />
              )}
            </li>
          )}
        </CardList>
      )}
      <div className="px-4 pb-3 empty:hidden">
        <Pager pagination={data?.meta.pagination} onPage={setPage} />
      </div>
    </Card>
  )
}
