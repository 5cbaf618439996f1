import { FolderInput, Lock, LockOpen, type LucideIcon, Play, Tag, Tags } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { counted } from '../../components/numbers.ts'
import { BULK_ACTIONS, type BulkActionName } from './bulk-actions.ts'
import type { ListedWorkspace } from './workspaces.ts'

const BulkDialog = lazy(async () => import('./bulk-dialog.tsx'))

const ICONS: Record<BulkActionName, LucideIcon> = {
  lock: Lock,
  unlock: LockOpen,
  addTag: Tag,
  removeTag: Tags,
  plan: Play,
  move: FolderInput,
}
const NAMES = Object.keys(BULK_ACTIONS) as BulkActionName[]

type BulkBarProps = { organization: string; workspaces: readonly ListedWorkspace[]; onClear: () => void }

/** Actions on the selected workspaces. */
export function BulkBar({ organization, workspaces, onClear }: BulkBarProps) {
  const [open, setOpen] = useState<{ action: BulkActionName; workspaces: readonly ListedWorkspace[] }>()
  return (
    <>
      {workspaces.length > 0 && (
        <div
          role="region"
          aria-label="Selected workspaces"
          className="sticky top-12 z-10 mb-3 flex flex-wrap items-center gap-2 rounded-lg border border-accent bg-accent-soft px-3 py-2"
        >
          <span role="status" className="mr-2 font-medium">
            {counted(workspaces.length, 'workspace')} selected
          </span>
          {NAMES.map((action) => (
            <Button
              key={action}
              size="small"
              icon={ICONS[action]}
              reason={reasonOf(action, workspaces)}
              onClick={() => setOpen({ action, workspaces })}
            >
              {BULK_ACTIONS[action].label}
            </Button>
          ))}
          <Button size="small" kind="quiet" onClick={onClear}>
            Clear selection
          </Button>
        </div>
      )}
      {open && (
        <Suspense>
          <BulkDialog
            organization={organization}
            action={BULK_ACTIONS[open.action]}
            workspaces={open.workspaces}
            onClose={() => setOpen(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

/** Why the action applies to none of the workspaces. If it applies to some, the dialog lists the obstacles. */
function reasonOf(action: BulkActionName, workspaces: readonly ListedWorkspace[]) {
  const obstacles = workspaces.map((workspace) => BULK_ACTIONS[action].obstacle(workspace))
  if (obstacles.includes(undefined)) return undefined
  return workspaces.length === 1 ? obstacles[0] : `not possible for any: ${[...new Set(obstacles)].join('; ')}`
}
