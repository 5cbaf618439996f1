import { Link } from '@tanstack/react-router'
import { Lock, LockOpen } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'
import { type LockHolder, lockHolder, lockReason } from './lock-words.ts'
import { type LockAction, useOpenWorkspace, useWorkspaceLock } from './workspace.ts'

/** The lock's holder, time and reason. */
export function LockLine() {
  const { organization, document, workspace } = useOpenWorkspace()
  const holder = lockHolder(document)
  if (!holder) return null
  const { name, 'locked-at': at, 'locked-reason': reason } = workspace.attributes
  return (
    <p className="mt-3 flex items-start gap-1.5 text-warn">
      <Lock size={15} aria-hidden="true" className="mt-0.5 shrink-0" />
      <span className="min-w-0">
        <span className="font-medium">
          Locked by {holder.kind === 'team' && 'the team '}
          {holder.kind === 'run' ? (
            <Link
              to="/app/$organization/workspaces/$workspace/runs/$run"
              params={{ organization, workspace: name, run: holder.id }}
              className="underline"
            >
              {holder.id}
            </Link>
          ) : (
            holder.name
          )}
        </span>
        {at !== null && (
          <>
            {' '}
            <RelativeTime at={at} />
          </>
        )}
        {reason ? `: ${reason}` : holder.kind === 'run' && ', which works on the workspace'}
      </span>
    </p>
  )
}

/** The buttons that lock the workspace and open its lock, as the person may. */
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
        consequence="Runs wait, and CLIs can't change the state, until it is unlocked."
        comment="Reason (others see it)"
        action="Lock the workspace"
        onConfirm={async (reason) => act('lock', `${name} is locked`, reason)}
      />
    ) : null
  }
  const isOwn = holder.kind === 'user' && holder.id === account?.id
  const unlock = async () => {
    try {
      await act('unlock', `${name} is unlocked`)
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : String(error), tone: 'bad' })
    }
  }
  return (
    <>
      {permissions['can-unlock'] && (
        <Button
          icon={LockOpen}
          isPending={change.isPending}
          reason={isOwn ? undefined : lockReason(holder, workspace.attributes)}
          onClick={() => void unlock()}
        >
          Unlock
        </Button>
      )}
      {permissions['can-force-unlock'] && !isOwn && (
        <Confirm
          key="force"
          label="Force-unlock"
          icon={LockOpen}
          reason={holder.kind === 'run' ? `${holder.id} is at work: cancel the run to release its lock` : undefined}
          title={`Force-unlock ${name}, locked by ${whose(holder)}?`}
          consequence="The lock holder assumes exclusive access. A state upload in progress is discarded, and its changes may be lost."
          action="Force-unlock"
          onConfirm={async () => act('force-unlock', `${name} is unlocked`)}
        />
      )}
    </>
  )
}

function whose({ kind, name }: LockHolder) {
  return kind === 'team' ? `the team ${name}` : name
}
