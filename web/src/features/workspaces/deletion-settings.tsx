import { Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { Notice } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { lockHolder, lockReason } from './lock-holder.ts'
import { useOpenWorkspace, workspaceKey } from './workspace.ts'

export function DeletionSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const { name, permissions, 'resource-count': count } = attributes
  const holder = lockHolder(document)
  const deleteAndLeave = useDeleteAndLeave()
  const resources = counted(count, 'resource')
  const path = `/workspaces/${workspace.id}`
  const remove = async (how: { method?: 'POST'; path: string }) =>
    deleteAndLeave({
      ...how,
      name,
      target: { to: '/app/$organization/workspaces', params: { organization } },
      own: workspaceKey(organization, name),
      affected: [['workspaces', organization]],
    })
  const common = { icon: Trash2, kind: 'danger', typedName: name, action: `Delete ${name}` } as const

  if (!permissions['can-destroy']) return <Notice>You don’t have permission to delete this workspace.</Notice>
  if (count === 0)
    return (
      <Card
        title="Delete workspace"
        tone="bad"
        about="It manages no resources. Its runs, states, variables and settings are deleted too."
      >
        <Confirm
          {...common}
          label="Delete workspace"
          reason={holder ? lockReason(holder, attributes) : undefined}
          title={`Delete ${name}?`}
          consequence="Its runs, states, variables and settings are permanently deleted."
          // The server rejects it for a workspace that manages resources.
          onConfirm={async () => remove({ method: 'POST', path: `${path}/actions/safe-delete` })}
        />
      </Card>
    )
  const destroy = permissions['can-queue-destroy'] ? (
    <WorkspaceLink workspace={name} search={{ start: true }} className="text-accent underline">
      start a destroy run
    </WorkspaceLink>
  ) : (
    'start a destroy run'
  )
  const about = (
    <>
      This workspace manages {resources}. To destroy {count === 1 ? 'the resource' : 'them'} first, {destroy}.
    </>
  )
  return (
    <Card title="Delete workspace" tone="bad" about={about}>
      {permissions['can-force-delete'] ? (
        <Confirm
          {...common}
          label="Force-delete workspace"
          title={`Delete ${name} without destroying ${resources}?`}
          consequence={`${resources} will continue to exist, but nothing will manage ${count === 1 ? 'it' : 'them'}. The state is permanently deleted, with all runs, variables and settings.`}
          onConfirm={async () => remove({ path })}
        />
      ) : (
        <Button
          label="Delete workspace"
          icon={Trash2}
          kind="danger"
          reason={`it manages ${resources}: destroy them first, or ask an owner of the organization`}
        />
      )}
    </Card>
  )
}
