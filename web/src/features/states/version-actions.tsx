import { ArchiveRestore, GitCompare, History, Play, Trash2 } from 'lucide-react'
import { Button, buttonClass } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { exactTime, RelativeTime } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'
import { lockHolder, lockReason } from '../workspaces/lock-holder.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { StateDiff } from './comparison.tsx'
import { PanelHeader, StatesLink, type StatesSearch, statesRoute } from './navigation.tsx'
import { type StateVersion, useBackingData, useRollback } from './states.ts'

/** Whether the user may roll back to a version, and the `reason` why it is currently impossible. */
function useRollbackPermission(target: StateVersion) {
  const { document, workspace } = useOpenWorkspace()
  const { data: account } = useSession()
  const { permissions } = workspace.attributes
  const holder = lockHolder(document)
  const holdsLock = holder?.kind === 'user' && holder.id === account?.id
  const currentId = workspace.relationships['current-state-version'].data?.id
  const isAllowed = permissions['can-create-state-versions'] && (permissions['can-lock'] || holdsLock)
  const base = { holdsLock, currentId, isAllowed }
  if (target.id === currentId) return { ...base, reason: 'this is the current state' }
  if (target.attributes.status !== 'finalized') return { ...base, reason: 'its data is unavailable' }
  return { ...base, reason: holder && !holdsLock ? lockReason(holder, workspace.attributes) : undefined }
}

export function RollbackButton({ target }: { target: StateVersion }) {
  const navigate = statesRoute.useNavigate()
  const { isAllowed, reason } = useRollbackPermission(target)
  if (!isAllowed) return null
  return (
    <Button
      icon={History}
      label="Roll back"
      reason={reason}
      onClick={() =>
        void navigate({ search: ({ page, version }) => ({ page, version, show: 'rollback' }), resetScroll: false })
      }
    />
  )
}

export function RollbackPreview({ target }: { target: StateVersion }) {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = statesRoute.useNavigate()
  const { isAllowed, reason, holdsLock, currentId } = useRollbackPermission(target)
  const rollback = useRollback({ organization, workspaceId: workspace.id })
  const { serial } = target.attributes

  function confirm() {
    const onSuccess = ({ copy, isStillLocked }: NonNullable<typeof rollback.data>) => {
      toast({ text: `Rolled back to serial ${serial}; the new serial is ${copy.attributes.serial}` })
      if (isStillLocked) toast({ text: 'The workspace could not be unlocked. Unlock it manually.', tone: 'bad' })
      void navigate({ search: { version: copy.id }, replace: true })
    }
    rollback.mutate({ target, holdsLock }, { onSuccess })
  }
  function close() {
    void navigate({ search: ({ page, version }) => ({ page, version }), replace: true, resetScroll: false })
  }

  return (
    <div className="space-y-4">
      <PanelHeader title={`Roll back to serial ${serial}`} />
      <Notice tone="warn">
        A copy of serial {serial} becomes the current state, with a new serial. The infrastructure does not change until
        the next apply, whose plan shows the effects.
      </Notice>
      {currentId !== undefined && currentId !== target.id && target.attributes.status === 'finalized' && (
        <section aria-label="Rollback preview" className="space-y-2">
          <h3 className="font-medium">Changes from the current state to serial {serial}</h3>
          <StateDiff from={currentId} to={target.id} />
        </section>
      )}
      {rollback.error && <ErrorNote error={rollback.error} />}
      {isAllowed ? (
        <div className="flex flex-wrap items-center gap-2">
          <Button
            kind="destroy"
            icon={History}
            label={`Roll back to serial ${serial}`}
            isPending={rollback.isPending}
            reason={reason}
            onClick={confirm}
          />
          <Button kind="quiet" label="Cancel" onClick={close} />
          {reason === undefined && (
            <span className="text-dim">
              {holdsLock ? 'The workspace remains locked by you.' : 'The workspace is locked during the rollback.'}
            </span>
          )}
        </div>
      ) : (
        <Notice>You don’t have permission to change the state of this workspace.</Notice>
      )}
      {isAllowed && reason !== undefined && <p className="text-warn">Can’t roll back: {reason}.</p>}
    </div>
  )
}

export function RollbackNotice({ version }: { version: StateVersion }) {
  const { workspace } = useOpenWorkspace()
  const { name, permissions } = workspace.attributes
  const originalId = version.relationships['rollback-state-version']?.data?.id
  if (originalId === undefined) return null
  const isCurrent = version.id === workspace.relationships['current-state-version'].data?.id
  const newRun = (
    <WorkspaceLink workspace={name} search={{ start: true }} className={buttonClass({ size: 'small' })}>
      <Play size={15} />
      New run
    </WorkspaceLink>
  )
  return (
    <Notice actions={isCurrent && permissions['can-queue-run'] && newRun}>
      Copy of{' '}
      <StatesLink search={{ version: originalId }} className="underline">
        an earlier version
      </StatesLink>
      , created by a rollback.
      {isCurrent && ' The infrastructure has not changed: a plan shows the effects of an apply.'}
    </Notice>
  )
}

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
            consequence="Its resources, outputs and raw JSON can’t be recovered, and rolling back to it becomes impossible."
            typedName={String(serial)}
            action="Delete permanently"
            done={`Data of serial ${serial} permanently deleted`}
            onConfirm={async () => change.mutateAsync({ id: version.id, action: 'permanently_delete_backing_data' })}
          />
        </div>
      ) : (
        <p className="text-dim">An organization owner can restore it.</p>
      )}
    </div>
  )
}

/** The actions on a version, in its row; in its header, which has buttons for the others, only the deletion. */
export function VersionMenu({ version, has = 'all' }: { version: StateVersion; has?: 'all' | 'deletion' }) {
  const { workspace } = useOpenWorkspace()
  const navigate = statesRoute.useNavigate()
  const change = useBackingData(workspace.id)
  const { isAllowed, reason } = useRollbackPermission(version)
  const { serial, status, permissions } = version.attributes
  const isCurrent = version.id === workspace.relationships['current-state-version'].data?.id
  if (status !== 'finalized') return null
  const open = (search: StatesSearch) => () =>
    void navigate({ search: ({ page }) => ({ page, ...search }), resetScroll: false })
  return (
    <RowMenu
      label={`Actions for serial ${serial}`}
      actions={[
        has === 'all' && {
          text: 'Compare with previous',
          icon: GitCompare,
          onSelect: open({ from: 'previous', to: version.id }),
        },
        has === 'all' &&
          isAllowed && {
            text: 'Roll back',
            icon: History,
            reason,
            onSelect: open({ version: version.id, show: 'rollback' }),
          },
        permissions['can-delete-backing-data'] && {
          text: 'Delete state data',
          icon: Trash2,
          reason: isCurrent ? 'the current state can’t be deleted because the next run starts from it' : undefined,
          confirm: {
            title: `Delete the data of serial ${serial}?`,
            consequence:
              'Its resources, outputs and raw JSON become unavailable. It can be restored for a week; then it is deleted permanently.',
            action: 'Delete state data',
            done: `Data of serial ${serial} deleted; it can be restored for a week`,
            onConfirm: async () => change.mutateAsync({ id: version.id, action: 'soft_delete_backing_data' }),
          },
        },
      ]}
    />
  )
}
