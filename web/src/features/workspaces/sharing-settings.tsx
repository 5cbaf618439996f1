import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { get, queryString, request } from '../../api/client.ts'
import { failureOf, includedOf } from '../../api/queries.ts'
import { IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { RadioField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { type Choice, Picker } from '../../components/picker.tsx'
import { SettingsForm, useDraft } from './settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'

const SCOPES = {
  chosen: { text: 'Chosen workspaces', about: 'None but those that are named below.' },
  project: { text: 'The project', about: 'Every workspace of the same project.' },
  organization: { text: 'The organization', about: 'Every workspace of the organization.' },
} as const
type Scope = keyof typeof SCOPES

/** Which other workspaces may read the state, by `terraform_remote_state` and `tfe_outputs`. */
export function SharingSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const scope: Scope = attributes['global-remote-state']
    ? 'organization'
    : attributes['project-remote-state']
      ? 'project'
      : 'chosen'
  const draft = useDraft<{ scope: string }>({ scope })
  const project = includedOf(document).one('projects', workspace.relationships.project)

  if (!attributes.permissions['can-update'])
    return (
      <Card title="State sharing">
        <p>
          {scope === 'chosen'
            ? 'Only chosen workspaces'
            : scope === 'project'
              ? `Every workspace of the project ${project?.attributes.name ?? ''}`
              : 'Every workspace of the organization'}{' '}
          may read the state.
        </p>
        {scope === 'chosen' && <Consumers mayChange={false} />}
      </Card>
    )
  return (
    <SettingsForm
      title="State sharing"
      about="Who else may read the state of this workspace, with its outputs, from a configuration."
      names={['global-remote-state', 'project-remote-state']}
      isDirty={draft.isDirty}
      onSave={async () => {
        await update.mutateAsync({
          id: workspace.id,
          attributes: {
            'global-remote-state': draft.values.scope === 'organization',
            'project-remote-state': draft.values.scope === 'project',
          },
        })
        draft.reset()
      }}
      onReset={draft.reset}
      done="The settings are saved"
    >
      {() => (
        <>
          <RadioField
            label="Remote state sharing"
            name="state-sharing"
            value={draft.values.scope}
            onChange={(value) => draft.set({ scope: value })}
            options={(Object.keys(SCOPES) as Scope[]).map((value) => ({ value, ...SCOPES[value] }))}
          />
          {draft.values.scope === 'chosen' && <Consumers mayChange />}
        </>
      )}
    </SettingsForm>
  )
}

function Consumers({ mayChange }: { mayChange: boolean }) {
  const { organization, workspace } = useOpenWorkspace()
  const [page, setPage] = useState(1)
  const consumers = useConsumers(workspace.id, page)
  const failure = failureOf(consumers)
  const change = useChangeConsumers(workspace.id)
  const act = (method: 'POST' | 'DELETE', id: string, done: string) =>
    change.mutate({ method, id }, { onSuccess: () => toast({ text: done }) })
  return (
    <div className="space-y-2">
      {consumers.isPending && <Skeleton rows={1} />}
      {failure && <ErrorNote {...failure} />}
      {consumers.data?.data.length === 0 && <p className="text-dim">No workspace is chosen.</p>}
      <ul aria-label="Chosen workspaces" className="divide-y divide-line rounded-md border border-line empty:hidden">
        {consumers.data?.data.map(({ id, attributes: { name } }) => (
          <li key={id} className="flex items-center gap-2 px-3 py-1">
            <Link
              to="/app/$organization/workspaces/$workspace"
              params={{ organization, workspace: name }}
              className="min-w-0 flex-1 hover:underline"
            >
              {name}
            </Link>
            {mayChange && (
              <IconButton
                label={`Stop sharing with ${name}`}
                icon={X}
                size="small"
                onClick={() => act('DELETE', id, `${name} can't read the state any longer`)}
              />
            )}
          </li>
        ))}
      </ul>
      <Pager pagination={consumers.data?.meta.pagination} onPage={setPage} />
      {change.error && <ErrorNote error={change.error} />}
      {mayChange && (
        <Picker
          label="Choose a workspace"
          icon={Plus}
          size="small"
          placeholder="Name of a workspace"
          about={['workspaces', organization]}
          load={async (text, signal) => findWorkspaces({ organization, without: workspace.id }, text, signal)}
          onChoose={({ value, text }) => act('POST', value, `${text} may read the state`)}
        />
      )}
    </div>
  )
}

function consumersPath(workspaceId: string) {
  return `/workspaces/${workspaceId}/relationships/remote-state-consumers`
}

/** The workspaces that may read the state of this one because they are named. */
function useConsumers(workspaceId: string, page: number) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'consumers', page],
    queryFn: async () =>
      get<PageOnWire<typeof workspaceSchema>>(
        `${consumersPath(workspaceId)}${queryString({ 'page[size]': 20, 'page[number]': page })}`,
      ),
  })
}

/** Lets a workspace read the state, or no longer. */
function useChangeConsumers(workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ method, id }: { method: 'POST' | 'DELETE'; id: string }) =>
      request(method, consumersPath(workspaceId), { data: [{ type: 'workspaces', id }] }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'consumers'] }),
  })
}

/** Workspaces with the text in their names, for a picker, without the one that asks. */
export async function findWorkspaces(
  { organization, without }: { organization: string; without: string },
  text: string,
  signal?: AbortSignal,
): Promise<Choice[]> {
  const query = queryString({ 'search[name]': text, 'page[size]': 30 })
  const { data } = await get<PageOnWire<typeof workspaceSchema>>(
    `/organizations/${organization}/workspaces${query}`,
    signal,
  )
  return data.filter(({ id }) => id !== without).map(({ id, attributes }) => ({ value: id, text: attributes.name }))
}
