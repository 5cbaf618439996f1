import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { CODE_INPUT, TextField } from '../../components/form.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { type ShownPool, useUpdateAgentPool } from './agent-pools.ts'

type PoolSettingsProps = { organization: string; shown: ShownPool; mayManage: boolean }

export function PoolSettings({ organization, shown, mayManage }: PoolSettingsProps) {
  const { name, 'max-concurrent-jobs': limit } = shown.pool.attributes
  const update = useUpdateAgentPool(shown.pool.id)
  const draft = useDraft({ name, limit: limit === null ? '' : String(limit) })
  return (
    <div className="max-w-4xl space-y-4">
      <SettingsForm
        title="General"
        readOnly={
          !mayManage && (
            <DescriptionList
              facts={[
                ['Name', name],
                ['Job limit', limit ?? 'none'],
              ]}
            />
          )
        }
        names={['name', 'max-concurrent-jobs']}
        draft={draft}
        onSave={async () => {
          const { name: changed, limit: jobs } = draft.changed
          await update.mutateAsync({
            attributes: {
              ...(changed !== undefined && { name: changed }),
              ...(jobs !== undefined && { 'max-concurrent-jobs': jobs.trim() === '' ? null : Number(jobs) }),
            },
          })
        }}
      >
        <TextField
          label="Name"
          hint="Letters, numbers, underscores and hyphens."
          {...draft.text('name')}
          {...CODE_INPUT}
        />
        <TextField
          label="Job limit"
          type="number"
          min={1}
          hint="Maximum number of jobs that its agents run concurrently. No limit if empty."
          {...draft.text('limit', 'max-concurrent-jobs')}
        />
      </SettingsForm>
      <UsedBy shown={shown} />
      {mayManage && <Deletion organization={organization} shown={shown} />}
    </div>
  )
}

/** Workspaces shown by name. */
const MAX_SHOWN = 50

function UsedBy({ shown: { workspaces } }: { shown: ShownPool }) {
  return (
    <Card
      title="Used by"
      about="Workspaces that select the pool. Others may inherit it from their project or the organization."
    >
      {workspaces.length === 0 ? (
        <p className="text-dim">No workspaces that you can see.</p>
      ) : (
        <ul className="flex flex-wrap gap-x-4 gap-y-1">
          {workspaces.slice(0, MAX_SHOWN).map(({ id, name }) => (
            <li key={id}>
              <WorkspaceLink workspace={name} tab="settings" className="hover:underline" />
            </li>
          ))}
          {workspaces.length > MAX_SHOWN && (
            <li className="text-dim">and {(workspaces.length - MAX_SHOWN).toLocaleString('en')} more</li>
          )}
        </ul>
      )}
    </Card>
  )
}

function Deletion({ organization, shown: { pool, workspaces } }: Omit<PoolSettingsProps, 'mayManage'>) {
  const { name, 'agent-count': online } = pool.attributes
  const remove = useDeleteAndLeave()
  const users = counted(workspaces.length, 'workspace')
  return (
    <Card
      title="Delete agent pool"
      tone="bad"
      about="A pool can’t be deleted while a workspace, a project, the organization, a run task or an unfinished run uses it."
    >
      <Confirm
        label="Delete agent pool"
        icon={Trash2}
        reason={workspaces.length > 0 ? `it is used by ${users}: select another pool there first` : undefined}
        title={`Delete ${name}?`}
        consequence={`Its tokens stop working immediately${online > 0 ? `, and ${counted(online, 'agent')} can no longer connect` : ''}.`}
        typedName={name}
        action={`Delete ${name}`}
        onConfirm={async () =>
          remove({
            path: `/agent-pools/${pool.id}`,
            name,
            target: { to: '/app/$organization/agents', params: { organization } },
            own: ['agent-pools', pool.id],
            affected: [['agent-pools', organization]],
          })
        }
      />
    </Card>
  )
}
