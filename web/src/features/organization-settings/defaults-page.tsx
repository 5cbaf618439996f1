import { DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CheckField, RadioField, SelectField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SettingsForm, errorAt, useDraft } from '../../components/settings-form.tsx'
import { MODES, type Mode } from '../workspaces/execution-fields.tsx'
import { useAgentPools } from '../workspaces/new-workspace.ts'
import { type Organization, useOpenOrganization, useUpdateOrganization } from './organization-settings.ts'

export function DefaultsPage() {
  const { name, data, fallback } = useOpenOrganization()
  return (
    <Page
      title="Defaults"
      about="For projects and workspaces without their own settings."
      actions={<CopyCurl path={`/organizations/${name}`} />}
    >
      {data ? (
        <div className="grid gap-4">
          <Execution organization={data} />
          <Deletion organization={data} />
        </div>
      ) : (
        fallback
      )}
    </Page>
  )
}

const POOL = '/data/relationships/default-agent-pool'

function Execution({ organization: { id: name, attributes, relationships } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const pools = useAgentPools(name)
  const mode = attributes['default-execution-mode']
  const draft = useDraft<{ mode: Mode; poolId: string }>({
    mode,
    poolId: relationships['default-agent-pool'].data?.id ?? '',
  })
  const { values } = draft
  const hasNoPools = pools.data ? pools.data.length === 0 : pools.error !== null
  const poolName = pools.data?.find(({ id }) => id === values.poolId)?.name
  return (
    <SettingsForm
      title="Execution"
      about="Where runs execute. A change applies to the next run of every workspace that inherits it."
      readOnly={
        !attributes.permissions['can-update'] && (
          <DescriptionList
            facts={[
              ['Execution mode', MODES[mode].text],
              ['Agent pool', mode === 'agent' ? poolName : undefined],
            ]}
          />
        )
      }
      names={['default-execution-mode', new RegExp(`^${POOL}`)]}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({
          attributes: { 'default-execution-mode': values.mode },
          poolId: values.mode === 'agent' && values.poolId !== '' ? values.poolId : null,
        })
      }
    >
      <RadioField
        label="Default execution mode"
        name="execution-mode"
        value={values.mode}
        onChange={(value) => draft.set({ mode: value })}
        options={(Object.keys(MODES) as Mode[]).map((value) => ({
          value,
          ...MODES[value],
          ...(value === 'agent' && mode !== 'agent' && hasNoPools && { reason: 'There is no agent pool yet.' }),
        }))}
      />
      {hasNoPools && (
        <p className="text-dim">
          To run on agents,{' '}
          <TargetLink
            leadsTo={{ to: '/app/$organization/agents', params: { organization: name }, search: { new: true } }}
            className="text-accent underline"
          >
            create an agent pool
          </TargetLink>{' '}
          first.
        </p>
      )}
      {values.mode === 'agent' && (
        <SelectField
          label="Agent pool"
          error={errorAt(draft.error, POOL)}
          options={[
            ...(values.poolId === '' ? [['', 'Select a pool'] as const] : []),
            ...(pools.data ?? []).map((pool) => [pool.id, `${pool.name} (${pool.online} online)`] as const),
          ]}
          value={values.poolId}
          onChange={({ target }) => draft.set({ poolId: target.value })}
        />
      )}
      {values.mode !== 'agent' && <FieldAlert text={errorAt(draft.error, POOL)} />}
    </SettingsForm>
  )
}

function Deletion({ organization: { id: name, attributes } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const isAllowed = attributes['allow-force-delete-workspaces']
  const draft = useDraft({ 'allow-force-delete-workspaces': isAllowed })
  return (
    <SettingsForm
      title="Workspace deletion"
      readOnly={
        !attributes.permissions['can-update'] &&
        (isAllowed
          ? 'Workspace administrators may force-delete workspaces.'
          : 'Only owners may force-delete workspaces.')
      }
      names={['allow-force-delete-workspaces']}
      draft={draft}
      onSave={async () => update.mutateAsync({ attributes: draft.changed })}
    >
      <CheckField
        label="Let workspace administrators force-delete"
        hint="Deletes a workspace that still manages resources: they remain, and nothing tracks them."
        {...draft.check('allow-force-delete-workspaces')}
      />
    </SettingsForm>
  )
}
