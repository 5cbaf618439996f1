import { Trash2 } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { CODE_INPUT, CheckField, TextArea, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { ScopeList } from '../workspaces/scope-list.tsx'
import {
  ACCESS_NAMES,
  AccessFields,
  POOL_POINTER,
  PoolField,
  ReportingFields,
  ScopeField,
} from './connection-fields.tsx'
import { NEW_CONNECTION, accessAttributes, poolRelation } from './connection-form.ts'
import { CONNECTIONS, type ShownConnection, useSetTokenKey, useUpdateConnection } from './connections.ts'
import { type AccessWay, PROVIDERS, WAYS, connectionName } from './providers.ts'

type SettingsProps = { organization: string; shown: ShownConnection; mayManage: boolean }

export function ConnectionSettings({ organization, shown, mayManage }: SettingsProps) {
  if (!mayManage)
    return (
      <Card title="Settings">
        <p className="text-dim">Changing them requires the permission to manage connections.</p>
      </Card>
    )
  return (
    <div className="max-w-4xl space-y-4">
      <General organization={organization} shown={shown} />
      {!shown.connection.attributes['organization-scoped'] && <Projects organization={organization} shown={shown} />}
      <Access organization={organization} shown={shown} />
      {shown.token && <SubmoduleKey shown={shown} token={shown.token} />}
      <Deletion organization={organization} shown={shown} />
    </div>
  )
}

type SectionProps = Omit<SettingsProps, 'mayManage'>

function General({ organization, shown: { connection } }: SectionProps) {
  const { attributes, relationships } = connection
  const update = useUpdateConnection(organization, connection.id)
  const draft = useDraft({
    name: attributes.name ?? '',
    poolId: relationships['agent-pool'].data?.id ?? '',
    scope: attributes['organization-scoped'] ? 'organization' : 'selected',
    forks: attributes['fork-plans-enabled'],
    polling: attributes['polling-enabled'],
  })
  return (
    <SettingsForm
      title="General"
      names={['name', 'organization-scoped', 'fork-plans-enabled', 'polling-enabled', POOL_POINTER]}
      draft={draft}
      onSave={async () => {
        const { name, poolId, scope, forks, polling } = draft.changed
        await update.mutateAsync({
          attributes: {
            ...(name !== undefined && { name: name.trim() || null }),
            ...(scope !== undefined && { 'organization-scoped': scope === 'organization' }),
            ...(forks !== undefined && { 'fork-plans-enabled': forks }),
            ...(polling !== undefined && { 'polling-enabled': polling }),
          },
          ...(poolId !== undefined && { relationships: { 'agent-pool': poolRelation(poolId) } }),
        })
      }}
    >
      <TextField label="Name (optional)" {...draft.text('name')} autoComplete="off" />
      <PoolField organization={organization} draft={draft} />
      <ScopeField draft={draft} />
      <ReportingFields provider={attributes['service-provider']} draft={draft} />
    </SettingsForm>
  )
}

function Projects({ organization, shown: { connection, projects } }: SectionProps) {
  const update = useUpdateConnection(organization, connection.id)
  const replace = (ids: readonly string[], done: string) =>
    update.mutate(
      { relationships: { projects: { data: ids.map((id) => ({ type: 'projects', id })) } } },
      { onSuccess: () => toast({ text: done }) },
    )
  const ids = projects.map(({ id }) => id)
  return (
    <Card title="Projects" about="Changes apply immediately.">
      <ScopeList
        organization={organization}
        kind="projects"
        title="Projects whose workspaces may use it"
        none="No projects selected."
        ownerId={connection.id}
        selected={projects}
        mayChange
        removeLabel={(name) => `Remove ${name} from the projects`}
        error={update.error}
        onAdd={({ id, text }) => replace([...ids, id], `${text} added`)}
        onRemove={({ id, text }) =>
          replace(
            ids.filter((each) => each !== id),
            `${text} removed`,
          )
        }
      />
    </Card>
  )
}

/** How the connection gets access: fixed when it is created. */
export function wayOf({ attributes }: ShownConnection['connection']): AccessWay {
  if (attributes.key !== null) return 'oauth'
  return attributes['http-url']?.startsWith('ssh:') ? 'ssh-key' : 'token'
}

function Access({ organization, shown: { connection } }: SectionProps) {
  const { attributes } = connection
  const provider = attributes['service-provider']
  const way = wayOf(connection)
  const update = useUpdateConnection(organization, connection.id)
  const draft = useDraft({ way, token: '', username: '', key: '', secret: '', privateKey: '' })
  return (
    <SettingsForm
      title={WAYS[way].text}
      about="Workspaces keep their repositories. What is entered here can’t be shown again."
      names={ACCESS_NAMES}
      draft={draft}
      problem={way === 'token' && draft.values.token.trim() === '' ? 'enter the new token' : undefined}
      onSave={async () =>
        update.mutateAsync({ attributes: accessAttributes(provider, { ...NEW_CONNECTION, ...draft.values }) })
      }
      done={way === 'oauth' ? 'Application saved' : 'Saved: the host is asked whether it accepts it'}
    >
      <AccessFields provider={provider} httpUrl={attributes['http-url'] ?? ''} draft={draft} isReplacement />
    </SettingsForm>
  )
}

type TokenProps = Pick<SectionProps, 'shown'> & { token: NonNullable<ShownConnection['token']> }

/** The key for submodules, of hosts whose repositories are fetched with a token. */
function SubmoduleKey({ shown: { connection }, token }: TokenProps) {
  const set = useSetTokenKey(connection.id)
  const hasKey = token.attributes['has-ssh-key']
  const draft = useDraft({ key: '', isRemoved: false })
  if (wayOf(connection) === 'ssh-key') return null
  return (
    <SettingsForm
      title="SSH key for submodules"
      about="With it, submodules whose address is one for ssh are fetched too."
      names={['ssh-key']}
      draft={draft}
      onSave={async () => set.mutateAsync({ tokenId: token.id, key: draft.values.isRemoved ? null : draft.values.key })}
    >
      <TextArea
        label={hasKey ? 'New private key' : 'Private key'}
        hint={hasKey ? 'A key is set. It can’t be shown again.' : 'Without a passphrase, in OpenSSH or PEM format.'}
        placeholder={hasKey ? 'Unchanged' : '-----BEGIN OPENSSH PRIVATE KEY-----'}
        rows={4}
        className="font-mono"
        disabled={draft.values.isRemoved}
        {...draft.text('key', 'ssh-key')}
        {...CODE_INPUT}
      />
      {hasKey && (
        <CheckField
          label="Remove the key"
          checked={draft.values.isRemoved}
          onChange={({ target }) => draft.set({ isRemoved: target.checked, ...(target.checked && { key: '' }) })}
        />
      )}
    </SettingsForm>
  )
}

function Deletion({ organization, shown: { connection } }: SectionProps) {
  const remove = useDeleteAndLeave()
  const name = connectionName(connection)
  const { attributes } = connection
  const count = attributes['affected-workspaces-count'] ?? 0
  const names = attributes['affected-workspaces'] ?? []
  const { hasApi } = PROVIDERS[attributes['service-provider']]
  const users = counted(count, 'workspace')
  return (
    <Card
      title="Delete connection"
      tone="bad"
      about={
        count === 0
          ? 'No workspace uses it.'
          : `${users} ${count === 1 ? 'uses' : 'use'} it: ${names.slice(0, 5).join(', ')}${count > Math.min(5, names.length) ? ' and others' : ''}.`
      }
    >
      <Confirm
        label="Delete connection"
        icon={Trash2}
        title={`Delete ${name}?`}
        consequence={
          (count === 0
            ? ''
            : `${users} ${count === 1 ? 'loses its repository' : 'lose their repositories'}: pushes no longer start runs there. `) +
          (hasApi ? 'Its webhooks are removed from the host.' : 'Its credentials are deleted.')
        }
        typedName={count === 0 ? undefined : name}
        action="Delete connection"
        onConfirm={async () =>
          remove({
            path: `/oauth-clients/${connection.id}`,
            name,
            target: { to: '/app/$organization/connections', params: { organization } },
            own: [CONNECTIONS, connection.id],
            affected: [[CONNECTIONS, organization], ['workspaces']],
          })
        }
      />
    </Card>
  )
}
