import type { dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import { Card } from '../../components/card.tsx'
import { RadioField, TextField, fieldError } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { useOrganization } from '../organizations/organizations.ts'
import { SettingsForm, useDraft } from './settings-form.tsx'
import { useOpenWorkspace } from './workspace.ts'

const DAYS = 'delete-older-than-n-days'

/** How long old states and configurations are kept. */
export function RetentionSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { data: owner } = useOrganization(organization)
  const relation = workspace.relationships['data-retention-policy']
  const own = useRetention('workspaces', workspace.id, relation)
  const inherited = useRetention('organizations', organization, owner?.relationships['data-retention-policy'])
  const set = useSetRetention(organization, workspace.id)
  const kind = relation.data === null ? 'inherit' : own === null ? 'keep' : 'delete'
  const draft = useDraft<{ kind: string; days: string }>({ kind, days: own ? String(own) : '30' })
  // The endpoint wants the right to delete the workspace.
  if (!workspace.attributes.permissions['can-destroy'])
    return (
      <Card title="Data retention">
        <p>{kind === 'inherit' ? `${policyText(inherited)}, as the organization says.` : `${policyText(own)}.`}</p>
      </Card>
    )
  const { values } = draft
  const isChanged = values.kind !== kind || (values.kind === 'delete' && draft.changed.days !== undefined)
  return (
    <SettingsForm
      title="Data retention"
      about="Old state versions and configurations may be deleted after a time. The current ones always stay."
      names={[DAYS]}
      isDirty={isChanged}
      onSave={async () => {
        await set.mutateAsync(
          values.kind === 'inherit' ? 'inherit' : values.kind === 'keep' ? null : Number(values.days),
        )
        draft.reset()
      }}
      onReset={draft.reset}
      done="The settings are saved"
    >
      {(error) => (
        <>
          <RadioField
            label="Retention policy"
            name="retention"
            value={values.kind}
            onChange={(chosen) => draft.set({ kind: chosen })}
            options={[
              { value: 'inherit', text: 'As the organization', about: `${policyText(inherited)}.` },
              { value: 'keep', text: 'Keep', about: 'Nothing is deleted.' },
              { value: 'delete', text: 'Delete', about: 'After the days below.' },
            ]}
          />
          {values.kind === 'delete' && (
            <TextField
              label="Days"
              type="number"
              min={1}
              className="w-28!"
              value={values.days}
              onChange={({ target }) => draft.set({ days: target.value })}
              error={fieldError(error, DAYS)}
            />
          )}
        </>
      )}
    </SettingsForm>
  )
}

function policyText(days: number | null | undefined) {
  if (days === undefined) return 'How long it is kept is not known yet'
  return days === null ? 'Keep forever' : `Deleted after ${counted(days, 'day')}`
}

type Owner = 'organizations' | 'workspaces'
type Relation = { data: { id: string; type: string } | null }

function policyPath(owner: Owner, id: string) {
  return `/${owner}/${id}/relationships/data-retention-policy`
}

/**
 * The days after which old data of a workspace or an organization is deleted, null for never; undefined while it is not
 * known. `relation` says whether there is a policy.
 */
function useRetention(owner: Owner, id: string, relation: Relation | undefined) {
  const policy = relation?.data
  const isDeleting = policy?.type === 'data-retention-policy-delete-olders'
  const found = useQuery({
    queryKey: [owner, id, 'data-retention', policy?.id],
    enabled: isDeleting,
    queryFn: async () => (await get<DocumentOnWire<typeof dataRetentionPolicySchema>>(policyPath(owner, id))).data,
  })
  if (!relation) return undefined
  if (!isDeleting) return null
  return found.data && 'delete-older-than-n-days' in found.data.attributes
    ? found.data.attributes['delete-older-than-n-days']
    : undefined
}

/** Sets the policy of a workspace: days, null to keep everything, `inherit` to follow the organization. */
function useSetRetention(organization: string, workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (days: number | null | 'inherit') => {
      const path = policyPath('workspaces', workspaceId)
      if (days === 'inherit') return request('DELETE', path)
      const data =
        days === null
          ? { type: 'data-retention-policy-dont-deletes' }
          : { type: 'data-retention-policy-delete-olders', attributes: { 'delete-older-than-n-days': days } }
      return request('PATCH', path, { data })
    },
    onSuccess: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workspaces', organization] }),
        queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'data-retention'] }),
      ]),
  })
}
