import { useBlocker } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

type UnsavedChangesProps = { isDirty: boolean; isSaving?: boolean; onDiscard?: () => void }
type Place = { pathname: string; search: unknown }

/** Asks before the user opens another page or tab; during a save, this waits for it. Navigations after an action, such as a deletion, have `ignoreBlocker`. */
export function UnsavedChanges({ isDirty, isSaving = false, onDiscard }: UnsavedChangesProps) {
  const { status, proceed, reset } = useBlocker({ shouldBlockFn: isElsewhere, disabled: !isDirty, withResolver: true })
  useEffect(() => {
    if (!isDirty) proceed?.()
  }, [isDirty, proceed])
  function discard() {
    onDiscard?.()
    proceed?.()
  }
  return (
    <Dialog
      title="Discard changes?"
      isOpen={status === 'blocked' && isDirty && !isSaving}
      onClose={() => reset?.()}
      width="max-w-md"
      footer={
        <>
          <Button label="Keep editing" onClick={reset} />
          <Button label="Discard changes" kind="destroy" onClick={discard} />
        </>
      }
    >
      <p>This page has changes that are not saved.</p>
    </Dialog>
  )
}

/** Other search parameters of a page, such as the number of a list's page, leave its forms open. */
function isElsewhere({ current, next }: { current: Place; next: Place }) {
  return current.pathname !== next.pathname || tabOf(current) !== tabOf(next)
}

function tabOf({ search }: Place) {
  return (search as { tab?: unknown }).tab
}
