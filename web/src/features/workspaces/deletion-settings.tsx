import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { request } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { lockHolder, lockReason } from './lock-words.ts'
import { useOpenWorkspace, workspaceKey } from './workspace.ts'

/** Deletion of the workspace with all its data. */
export function DeletionSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const { name, permissions, 'resource-count': count } = attributes
  const holder = lockHolder(document)
  const remove = useDeleteWorkspace(organization)
  if (!permissions['can-destroy']) return null
  const resources = counted(count, 'resource')
  const common = { icon: Trash2, kind: 'danger', typedName: name, action: `Delete ${name}` } as const

  return (
    <Card title="Delete the workspace" tone="bad">
      {count === 0 ? (
        <div className="space-y-3">
          <p className="text-dim">It manages no resources. Its runs, states, variables and settings go with it.</p>
          <Confirm
            {...common}
            label="Delete the workspace"
            reason={holder ? lockReason(holder, attributes) : undefined}
            title={`Delete ${name}?`}
            consequence="Its runs, states, variables and settings are permanently deleted."
            onConfirm={async () => remove.mutateAsync({ id: workspace.id, name, isForced: false })}
          />
        </div>
      ) : (
        <div className="space-y-3">
          <p className="text-dim">
            It manages {resources}. To remove {count === 1 ? 'it' : 'them'} first,{' '}
            {permissions['can-queue-destroy'] ? (
              <Link
                to="/app/$organization/workspaces/$workspace"
                params={{ organization, workspace: name }}
                search={{ start: true }}
                className="text-accent underline"
              >
                start a run that destroys
              </Link>
            ) : (
              'start a run that destroys'
            )}
            .
          </p>
          {permissions['can-force-delete'] ? (
            <Confirm
              {...common}
              label="Force-delete workspace"
              title={`Delete ${name} and leave ${resources} behind?`}
              consequence={`${resources} stay as they are, and nothing manages them any longer. The state that describes them is permanently deleted, with all runs, variables and settings.`}
              onConfirm={async () => remove.mutateAsync({ id: workspace.id, name, isForced: true })}
            />
          ) : (
            <Button
              icon={Trash2}
              kind="danger"
              reason={`it manages ${resources}: destroy them first, or ask an owner of the organization`}
            >
              Delete the workspace
            </Button>
          )}
        </div>
      )}
    </Card>
  )
}

/** A safe deletion is refused by the server when there are resources after all. */
function useDeleteWorkspace(organization: string) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async ({ id, isForced }: { id: string; name: string; isForced: boolean }) =>
      isForced ? request('DELETE', `/workspaces/${id}`) : request('POST', `/workspaces/${id}/actions/safe-delete`),
    onSuccess: async (_, { name }) => {
      toast({ text: `${name} is deleted` })
      await navigate({ to: '/app/$organization/workspaces', params: { organization } })
      queries.removeQueries({ queryKey: workspaceKey(organization, name) })
      await queries.invalidateQueries({ queryKey: ['workspaces', organization] })
    },
  })
}
