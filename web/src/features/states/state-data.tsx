import { ArchiveRestore, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RelativeTime, exactTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { type StateVersion, useBackingData } from './states.ts'

/** Why a version has no data, and how to restore it. */
export function MissingData({ version }: { version: StateVersion }) {
  const { status } = version.attributes
  if (status === 'backing_data_soft_deleted') return <SoftDeleted version={version} />
  if (status === 'pending')
    return <Notice role="status">The state is being uploaded. This page updates automatically.</Notice>
  return (
    <Notice>
      {status === 'backing_data_permanently_deleted'
        ? 'The data of this state was permanently deleted: its resources, outputs and raw JSON are no longer available.'
        : 'This state was never uploaded: the workspace was unlocked or a newer state was stored before the upload finished.'}
    </Notice>
  )
}

function SoftDeleted({ version }: { version: StateVersion }) {
  const { serial, 'restorable-until': until, permissions } = version.attributes
  const change = useBackingData(version.relationships.workspace.data?.id ?? '')
  return (
    <div className="space-y-3">
      <Notice tone="warn">
        The data of this state was deleted: its resources, outputs and raw JSON are unavailable.{' '}
        {until !== null && `It can be restored until ${exactTime(until)} (`}
        {until !== null && [<RelativeTime key="until" at={until} />, '), then it is deleted permanently.']}
      </Notice>
      {change.error && <ErrorNote error={change.error} />}
      {permissions['can-delete-backing-data'] ? (
        <div className="flex flex-wrap gap-2">
          <Button
            kind="primary"
            icon={ArchiveRestore}
            label="Restore"
            isPending={change.isPending}
            onClick={() =>
              change.mutate(
                { id: version.id, action: 'restore_backing_data' },
                { onSuccess: () => toast({ text: `Serial ${serial} restored` }) },
              )
            }
          />
          <Confirm
            label="Delete permanently"
            title={`Permanently delete the data of serial ${serial}?`}
            consequence="Its resources, outputs and raw JSON cannot be recovered, and rolling back to it becomes impossible."
            typedName={String(serial)}
            action="Delete permanently"
            onConfirm={async () => {
              await change.mutateAsync({ id: version.id, action: 'permanently_delete_backing_data' })
              toast({ text: `Data of serial ${serial} permanently deleted` })
            }}
          />
        </div>
      ) : (
        <p className="text-dim">An organization owner can restore it.</p>
      )}
    </div>
  )
}

/** Soft-deletes the data of a version. */
export function DeleteStateData({ version }: { version: StateVersion }) {
  const { workspace } = useOpenWorkspace()
  const change = useBackingData(workspace.id)
  const { serial, permissions } = version.attributes
  if (!permissions['can-delete-backing-data']) return null
  const isCurrent = version.id === workspace.relationships['current-state-version'].data?.id
  return (
    <div className="border-t border-line pt-4">
      <Confirm
        label="Delete state data"
        icon={Trash2}
        reason={isCurrent ? 'the current state cannot be deleted because the next run starts from it' : undefined}
        title={`Delete the data of serial ${serial}?`}
        consequence="Its resources, outputs and raw JSON become unavailable. It can be restored for a week; then it is deleted permanently."
        action="Delete state data"
        onConfirm={async () => {
          await change.mutateAsync({ id: version.id, action: 'soft_delete_backing_data' })
          toast({ text: `Data of serial ${serial} deleted; it can be restored for a week` })
        }}
      />
    </div>
  )
}
