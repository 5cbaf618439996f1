import { ArchiveRestore, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RelativeTime, exactTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { type StateVersion, useBackingData } from './states.ts'

/** Why a version has no content, and what can be done about it. */
export function MissingContent({ version }: { version: StateVersion }) {
  const { status } = version.attributes
  if (status === 'backing_data_soft_deleted') return <SoftDeleted version={version} />
  if (status === 'backing_data_permanently_deleted')
    return (
      <Notice>
        The content of this state was deleted for good: its resources, outputs and raw data are gone. Only what stands
        above is left.
      </Notice>
    )
  if (status === 'pending')
    return (
      <Notice role="status">
        The content of this state is being uploaded. It comes here by itself when it is there.
      </Notice>
    )
  return (
    <Notice>
      This state never had content: a newer one was stored, or the lock was opened, before its upload ended.
    </Notice>
  )
}

function SoftDeleted({ version }: { version: StateVersion }) {
  const { serial, 'restorable-until': until, permissions } = version.attributes
  const change = useBackingData(version.relationships.workspace.data?.id ?? '')
  return (
    <div className="space-y-3">
      <Notice tone="warn">
        The content of this state was deleted: its resources, outputs and raw data can’t be read.{' '}
        {until !== null && (
          <>
            It can be restored until {exactTime(until)} (<RelativeTime at={until} />
            ), then it is gone for good.
          </>
        )}
      </Notice>
      {change.error && <ErrorNote error={change.error} />}
      {permissions['can-delete-backing-data'] ? (
        <div className="flex flex-wrap gap-2">
          <Button
            kind="primary"
            icon={ArchiveRestore}
            isPending={change.isPending}
            onClick={() =>
              change.mutate(
                { id: version.id, action: 'restore_backing_data' },
                { onSuccess: () => toast({ text: `Serial ${serial} is restored` }) },
              )
            }
          >
            Restore
          </Button>
          <Confirm
            label="Delete for good"
            title={`Delete the content of serial ${serial} for good?`}
            consequence="Its resources, outputs and raw data can never be read again, and nobody can roll back to it."
            typedName={String(serial)}
            action="Delete the content for good"
            onConfirm={async () => {
              await change.mutateAsync({ id: version.id, action: 'permanently_delete_backing_data' })
              toast({ text: `The content of serial ${serial} is gone` })
            }}
          />
        </div>
      ) : (
        <p className="text-dim">An owner of the organization can restore it.</p>
      )}
    </div>
  )
}

/** Deletes the content of a version, which can be restored for a week. */
export function DeleteContent({ version }: { version: StateVersion }) {
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
