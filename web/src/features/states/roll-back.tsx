import { getRouteApi, Link } from '@tanstack/react-router'
import { History, Play } from 'lucide-react'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useSession } from '../session/session.ts'
import { lockHolder, lockReason } from '../workspaces/lock-words.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { DiffBetween } from './comparison.tsx'
import { PartHeader } from './part-header.tsx'
import { type StateVersion, useRollBack } from './states.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** Whether the person can roll the workspace back to a version; `reason` says why not now. */
function useMayRollBack(target: StateVersion) {
  const { document, workspace } = useOpenWorkspace()
  const { data: account } = useSession()
  const { permissions } = workspace.attributes
  const holder = lockHolder(document)
  const holdsLock = holder?.kind === 'user' && holder.id === account?.id
  const isCurrent = target.id === workspace.relationships['current-state-version'].data?.id
  return {
    holdsLock,
    may: permissions['can-create-state-versions'] && (permissions['can-lock'] || holdsLock),
    reason: isCurrent
      ? 'this is the current state'
      : target.attributes.status !== 'finalized'
        ? 'its content can’t be read'
        : holder && !holdsLock
          ? lockReason(holder, workspace.attributes)
          : undefined,
  }
}

/** Leads to the preview of a roll back. */
export function RollBackLink({ target }: { target: StateVersion }) {
  const navigate = route.useNavigate()
  const { may, reason } = useMayRollBack(target)
  if (!may) return null
  return (
    <Button
      icon={History}
      reason={reason}
      onClick={() =>
        void navigate({
          search: ({ page, version }) => ({ page, version, show: 'rollback' }),
          resetScroll: false,
        })
      }
    >
      Roll back to this
    </Button>
  )
}

/** What a roll back would change in the state, and the button that does it. */
export function RollBack({ target }: { target: StateVersion }) {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = route.useNavigate()
  const { may, reason, holdsLock } = useMayRollBack(target)
  const rollBack = useRollBack({ organization, workspaceId: workspace.id })
  const { serial } = target.attributes
  const currentId = workspace.relationships['current-state-version'].data?.id
  const close = () =>
    void navigate({ search: ({ page, version }) => ({ page, version }), replace: true, resetScroll: false })

  function act() {
    rollBack.mutate(
      { target, holdsLock },
      {
        onSuccess: ({ copy, isLockKept }) => {
          toast({ text: `Serial ${copy.attributes.serial} is the current state: a copy of serial ${serial}` })
          if (isLockKept)
            toast({ text: 'The lock could not be released: unlock the workspace by its button', tone: 'bad' })
          void navigate({ search: { version: copy.id }, replace: true })
        },
      },
    )
  }

  return (
    <div className="space-y-4">
      <PartHeader title={`Roll back to serial ${serial}`} />
      <Notice tone="warn">
        A copy of serial {serial} becomes the current state, with a serial above all others. What it describes is not
        touched: real things stay as they are until a run applies, and the next plan shows what it would do to them.
      </Notice>
      {currentId !== undefined && currentId !== target.id && target.attributes.status === 'finalized' && (
        <section aria-label="What the roll back changes in the state" className="space-y-2">
          <h3 className="font-medium">From the current state to serial {serial}</h3>
          <DiffBetween from={currentId} to={target.id} />
        </section>
      )}
      {rollBack.error && <ErrorNote error={rollBack.error} />}
      {may ? (
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="destroy" icon={History} isPending={rollBack.isPending} reason={reason} onClick={act}>
            Roll back to serial {serial}
          </Button>
          <Button kind="quiet" onClick={close}>
            Keep the current state
          </Button>
          {reason === undefined && (
            <span className="text-dim">
              {holdsLock ? 'The workspace stays locked by you.' : 'The workspace is locked for you until it is done.'}
            </span>
          )}
        </div>
      ) : (
        <Notice>You may not change the state of this workspace.</Notice>
      )}
      {may && reason !== undefined && <p className="text-warn">Not now: {reason}.</p>}
    </div>
  )
}

/** What is to do after a roll back, at the version that it made. */
export function RolledBack({ version }: { version: StateVersion }) {
  const { organization, workspace } = useOpenWorkspace()
  const { name, permissions } = workspace.attributes
  const original = version.relationships['rollback-state-version']?.data?.id
  if (original === undefined) return null
  const params = { organization, workspace: name }
  const isCurrent = version.id === workspace.relationships['current-state-version'].data?.id
  return (
    <Notice
      actions={
        isCurrent &&
        permissions['can-queue-run'] && (
          <Link
            to="/app/$organization/workspaces/$workspace"
            params={params}
            search={{ start: true }}
            className={buttonClass({ size: 'small' })}
          >
            <Play size={15} aria-hidden="true" />
            Start a plan
          </Link>
        )
      }
    >
      A copy of{' '}
      <Link
        to="/app/$organization/workspaces/$workspace/states"
        params={params}
        search={{ version: original }}
        className="underline"
      >
        an earlier state
      </Link>
      , made by a roll back.
      {isCurrent && ' Real things were not touched: a plan shows what an apply would do to them.'}
    </Notice>
  )
}
