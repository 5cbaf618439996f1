import type { dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { RadioField, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useOpenWorkspace } from './workspace.ts'

const DAYS = 'delete-older-than-n-days'

export function RetentionSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { data: owner } = useOrganization(organization)
  const relation = workspace.relationships['data-retention-policy']
  const days = useRetention('workspaces', workspace.id, relation)
  const inherited = useRetention('organizations', organization, owner?.relationships['data-retention-policy'])
  const set = useSetRetention(organization, workspace.id)
  const kind = relation.data === null ? 'inherit' : days === null ? 'keep' : 'delete'
  const draft = useDraft<{ kind: string; days: string }>({ kind, days: days ? String(days) : '30' })
  const { values } = draft
  const isDirty = values.kind !== kind || (values.kind === 'delete' && draft.changed.days !== undefined)
  return (
    <SettingsForm
      title="Data retention"
      // The endpoint requires permission to delete the workspace.
      readOnly={
        !workspace.attributes.permissions['can-destroy'] &&
        (kind === 'inherit' ? `${policyText(inherited)} (inherited from organization).` : `${policyText(days)}.`)
      }
      about="How long old state versions and configurations are kept. The current ones are never deleted."
      names={[DAYS]}
      draft={{ ...draft, isDirty }}
      onSave={async () =>
        set.mutateAsync(values.kind === 'inherit' ? 'inherit' : values.kind === 'keep' ? null : Number(values.days))
      }
    >
      <RadioField
        label="Retention policy"
        name="retention"
        value={values.kind}
        onChange={(selected) => draft.set({ kind: selected })}
        options={[
          { value: 'inherit', text: 'Inherit from organization', about: `${policyText(inherited)}.` },
          { value: 'keep', text: 'Keep forever', about: 'Nothing is deleted.' },
          { value: 'delete', text: 'Delete after a number of days', about: 'Older data is deleted permanently.' },
        ]}
      />
      {values.kind === 'delete' && (
        <TextField label="Days" type="number" min={1} className="w-28!" {...draft.text('days', DAYS)} />
      )}
    </SettingsForm>
  )
}

function policyText(days: number | null | undefined) {
  if (days === undefined) return 'Loading…'
  return days === null ? 'Keep forever' : `Deleted after ${counted(days, 'day')}`
}

type Owner = 'organizations' | 'workspaces'
type Relation = { data: { id: string; type: string } | null }

function policyPath(owner: Owner, id: string) {
  return `/${owner}/${id}/relationships/data-retention-policy`
}

/** The retention of a workspace or an organization in days: null for unlimited, undefined while unknown. */
function useRetention(owner: Owner, id: string, relation: Relation | undefined) {
  const policy = relation?.data
  const isDeleting = policy?.type === 'data-retention-policy-delete-olders'
  const { data } = useQuery({
    queryKey: [owner, id, 'data-retention', policy?.id],
    enabled: isDeleting,
    queryFn: async () => getData<DocumentOnWire<typeof dataRetentionPolicySchema>>(policyPath(owner, id)),
  })
  if (!relation) return undefined
  if (!isDeleting) return null
  return data && DAYS in data.attributes ? data.attributes[DAYS] : undefined
}

/** Sets the retention of a workspace: days, null for unlimited, or `inherit`. */
function useSetRetention(organization: string, workspaceId: string) {
  const path = policyPath('workspaces', workspaceId)
  return useChange(
    async (days: number | null | 'inherit') => {
      if (days === 'inherit') return request('DELETE', path)
      const data =
        days === null
          ? { type: 'data-retention-policy-dont-deletes' }
          : { type: 'data-retention-policy-delete-olders', attributes: { [DAYS]: days } }
      return request('PATCH', path, { data })
    },
    ['workspaces', organization],
    ['workspaces', workspaceId, 'data-retention'],
  )
}
