import { Dialog } from '../components/dialog.tsx'
import { SHORTCUTS } from './shortcuts.ts'

export function ShortcutsDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose} width="max-w-md">
      <dl className="grid grid-cols-[6rem_1fr] gap-y-2">
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} className="mr-1 rounded border border-line-strong px-1.5 py-0.5 text-xs">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
