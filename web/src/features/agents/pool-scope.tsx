import { Card, DescriptionList } from '../../components/card.tsx'
import { RadioField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { ScopeList } from '../workspaces/scope-list.tsx'
import { type ScopeName, type ShownPool, useUpdateAgentPool } from './agent-pools.ts'

export const POOL_SCOPES = [
  {
    value: 'organization',
    text: 'All workspaces',
    about: 'Every workspace of the organization, except those excluded.',
  },
  { value: 'selected', text: 'Selected projects and workspaces', about: 'Only those on the list.' },
] as const

const LISTS = {
  'allowed-projects': { title: 'Allowed projects', kind: 'projects', none: 'No projects allowed.' },
  'allowed-workspaces': { title: 'Allowed workspaces', kind: 'workspaces', none: 'No workspaces allowed.' },
  'excluded-workspaces': { title: 'Excluded workspaces', kind: 'workspaces', none: 'No workspaces excluded.' },
} as const satisfies Record<ScopeName, unknown>

type PoolScopeProps = { organization: string; shown: ShownPool; mayManage: boolean }

/** The workspaces that may use a pool. */
export function PoolScope({ organization, shown, mayManage }: PoolScopeProps) {
  const { pool, scope } = shown
  const update = useUpdateAgentPool(pool.id)
  const isAll = pool.attributes['organization-scoped']
  const draft = useDraft({ scope: isAll ? 'organization' : 'selected' })
  const listsOf = (isOrganization: boolean): readonly ScopeName[] =>
    isOrganization ? ['excluded-workspaces'] : ['allowed-projects', 'allowed-workspaces', 'excluded-workspaces']
  const lists = listsOf(draft.values.scope === 'organization').map((name) => (
    <PoolScopeList key={name} {...{ organization, shown, mayManage, name }} />
  ))
  return (
    <div className="max-w-4xl space-y-4">
      <SettingsForm
        title="Scope"
        readOnly={
          !mayManage && (
            <DescriptionList
              facts={[
                ['Scope', isAll ? 'All workspaces' : 'Selected projects and workspaces'],
                ...listsOf(isAll).map((name) => {
                  const names = scope[name].map((one) => one.name)
                  return [LISTS[name].title, names.length === 0 ? undefined : names.join(', ')] as const
                }),
              ]}
            />
          )
        }
        names={['organization-scoped']}
        draft={draft}
        onSave={async () =>
          update.mutateAsync({ attributes: { 'organization-scoped': draft.values.scope === 'organization' } })
        }
        done="Scope saved"
      >
        <RadioField
          label="Scope"
          name="scope"
          value={draft.values.scope}
          onChange={(value) => draft.set({ scope: value })}
          options={POOL_SCOPES}
        />
        <p className="text-dim">A queued run ends with an error if its workspace may no longer use the pool.</p>
      </SettingsForm>
      {mayManage && (
        <Card title="Projects and workspaces" about="Changes apply immediately.">
          <div className="space-y-4">{lists}</div>
        </Card>
      )}
    </div>
  )
}

function PoolScopeList({ organization, shown, mayManage, name }: PoolScopeProps & { name: ScopeName }) {
  const { title, kind, none } = LISTS[name]
  const update = useUpdateAgentPool(shown.pool.id)
  const selected = shown.scope[name]
  const ids = new Set(selected.map(({ id }) => id))
  const replace = (next: ReadonlySet<string>, done: string) =>
    update.mutate(
      { relationships: { [name]: { data: [...next].map((id) => ({ type: kind, id })) } } },
      { onSuccess: () => toast({ text: done }) },
    )
  return (
    <ScopeList
      {...{ organization, kind, title, none, selected }}
      ownerId={shown.pool.id}
      mayChange={mayManage}
      removeLabel={(text) => `Remove ${text} from the ${title.toLowerCase()}`}
      error={update.error}
      onAdd={({ id, text }) => replace(new Set([...ids, id]), `${text} added`)}
      onRemove={({ id, text }) => replace(ids.difference(new Set([id])), `${text} removed`)}
    />
  )
}
