import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { errorOf } from '../api/client.ts'
import { Button, IconButton } from './button.tsx'
import type { ToastOptions } from './overlay-hosts.tsx'

const manager = Toast.createToastManager()

/** The last toast with an undo. Only this one is offered, since undoing an earlier action would overwrite later ones. */
let lastUndo: string | undefined

function addToast({ text, tone = 'good', undo }: ToastOptions) {
  if (undo && lastUndo !== undefined) manager.close(lastUndo)
  const id = manager.add({
    // The title is for screen readers.
    title: tone === 'bad' ? 'Error' : 'Done',
    description: text,
    priority: tone === 'bad' ? 'high' : 'low',
    timeout: tone === 'bad' || undo ? 12_000 : 4000,
    ...(undo && { actionProps: { children: 'Undo', onClick: () => void reverse(undo, id) } }),
  })
  if (undo) lastUndo = id
}

async function reverse(undo: () => Promise<unknown>, id: string) {
  manager.close(id)
  try {
    await undo()
    addToast({ text: 'Undone' })
  } catch (error) {
    addToast({ text: `Not undone: ${errorOf(error).message}`, tone: 'bad' })
  }
}

/** `toasts` only grows. Load this file lazily. */
export default function ToastHost({ toasts }: { toasts: readonly ToastOptions[] }) {
  const shown = useRef(0)
  useEffect(() => {
    for (const options of toasts.slice(shown.current)) addToast(options)
    shown.current = toasts.length
  }, [toasts])
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Viewport className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2 max-lg:bottom-20">
        <List />
      </Toast.Viewport>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((item) => (
    <Toast.Root key={item.id} toast={item} className="rounded-lg border border-line bg-raised shadow-lg">
      <Toast.Content className="flex items-center gap-2 px-3 py-2">
        <Toast.Title className="sr-only" />
        <Toast.Description className="min-w-0 flex-1" />
        {item.actionProps && <Toast.Action render={<Button size="small" />} />}
        <Toast.Close render={<IconButton label="Close" icon={X} size="small" />} />
      </Toast.Content>
    </Toast.Root>
  ))
}
