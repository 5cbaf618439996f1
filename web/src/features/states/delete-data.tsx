import { Trash2 } from 'lucide-react'
import { Confirm } from '../../components/confirm.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { type StateVersion, useBackingData } from './states.ts'

/** Deletes the content of a version, which can be restored for a week. */
export function DeleteData({ version }: { version: StateVersion }) {
  const { workspace } = useOpenWorkspace()
  const change = useBackingData(workspace.id)
  const { serial, permissions } = version.attributes
  if (!permissions['can-delete-backing-data']) return null
  const isCurrent = version.id === workspace.relationships['current-state-version'].data?.id
  return (
    <div className="border-t border-line pt-4">
      <Confirm
        label="Delete its content"
        icon={Trash2}
        reason={isCurrent ? 'the current state can’t be deleted: the next run starts from it' : undefined}
        title={`Delete the content of serial ${serial}?`}
        consequence="Its resources, outputs and raw data can’t be read any longer. It can be restored for a week; then it is gone for good."
        action={`Delete the content of serial ${serial}`}
        onConfirm={async () => {
          await change.mutateAsync({ id: version.id, action: 'soft_delete_backing_data' })
          toast({ text: `The content of serial ${serial} is deleted; it can be restored for a week` })
        }}
      />
    </div>
  )
}
