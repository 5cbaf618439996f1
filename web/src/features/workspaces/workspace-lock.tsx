import { Lock, LockOpen } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { useSession } from '../session/session.ts'
import { holderText, lockHolder, lockReason } from './lock-words.ts'
import { type LockAction, useOpenWorkspace, useWorkspaceLock } from './workspace.ts'

/** Holder, time and reason of the lock. */
export function LockLine() {
  const { document, workspace } = useOpenWorkspace()
  const holder = lockHolder(document)
  if (!holder) return null
  const { name, 'locked-at': at, 'locked-reason': reason } = workspace.attributes
  return (
    <p className="mt-3 flex items-start gap-1.5 text-warn">
      <Lock size={15} className="mt-0.5 shrink-0" />
      <span className="min-w-0">
        <span className="font-medium">
          Locked by{' '}
          {holder.kind === 'run' ? (
            <RunLink workspace={name} run={holder} className="underline">
              {holder.id}
            </RunLink>
          ) : (
            holderText(holder)
          )}
        </span>
        {at !== null && (
          <>
            {' '}
            <RelativeTime at={at} />
          </>
        )}
        {reason ? `: ${reason}` : holder.kind === 'run' && ' while it runs'}
      </span>
    </p>
  )
}

/** Buttons to lock and unlock the workspace. */
export function LockActions() {
  const { organization, document, workspace } = useOpenWorkspace()
  const change = useWorkspaceLock(organization)
  const { data: account } = useSession()
  const { name, permissions } = workspace.attributes
  const holder = lockHolder(document)
  const act = async (action: LockAction, done: string, reason?: string) => {
    await change.mutateAsync({ id: workspace.id, action, reason })
    toast({ text: done })
  }

  if (!holder) {
    return permissions['can-lock'] ? (
      <Confirm
        key="lock"
        label="Lock"
        icon={Lock}
        kind="plain"
        title={`Lock ${name}?`}
        consequence="No run starts, and no CLI can change the state, until the workspace is unlocked."
        comment="Reason (visible to others)"
        action="Lock workspace"
        onConfirm={async (reason) => act('lock', `${name} locked`, reason)}
      />
    ) : null
  }
  const isOwn = holder.kind === 'user' && holder.id === account?.id
  const unlock = async () => {
    try {
      await act('unlock', `${name} unlocked`)
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : String(error), tone: 'bad' })
    }
  }
  return (
    <>
      {permissions['can-unlock'] && (
        <Button
          label="Unlock"
          icon={LockOpen}
          isPending={change.isPending}
          reason={isOwn ? undefined : lockReason(holder, workspace.attributes)}
          onClick={() => void unlock()}
        />
      )}
      {permissions['can-force-unlock'] && !isOwn && (
        <Confirm
          key="force"
          label="Force-unlock"
          icon={LockOpen}
          reason={holder.kind === 'run' ? `${holder.id} is running: cancel it to release the lock` : undefined}
          title={`Force-unlock ${name}, locked by ${holderText(holder)}?`}
          consequence="The lock holder assumes exclusive access. A state upload in progress is discarded, and its changes may be lost."
          action="Force-unlock"
          onConfirm={async () => act('force-unlock', `${name} unlocked`)}
        />
      )}
    </>
  )
}
