import { Dialog } from '../components/dialog.tsx'
import type { Destination } from '../features/organizations/organization-pages.ts'
import { RUN_SHORTCUTS } from '../features/runs/approval/run-shortcuts.ts'

const GENERAL = [
  { keys: 'Ctrl K', action: 'Go to a page, workspace or run' },
  { keys: '/', action: 'Search this page' },
  { keys: '?', action: 'Keyboard shortcuts' },
] as const

type ShortcutsDialogProps = { pages: readonly Destination[]; isOpen: boolean; onClose: () => void }

/** All keyboard shortcuts. None of them modifies data. Load this file lazily. */
export default function ShortcutsDialog({ pages, isOpen, onClose }: ShortcutsDialogProps) {
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose} width="max-w-2xl">
      <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
        {pages.length > 0 && (
          <Shortcuts
            title="Pages"
            shortcuts={pages.flatMap(({ keys, text }) => (keys === undefined ? [] : [{ keys, action: text }]))}
          />
        )}
        <div className="space-y-5">
          <Shortcuts title="Everywhere" shortcuts={GENERAL} />
          {pages.length > 0 && <Shortcuts title="On the page of a run" shortcuts={RUN_SHORTCUTS} />}
        </div>
      </div>
    </Dialog>
  )
}

type ShortcutsProps = { title: string; shortcuts: readonly { keys: string; action: string }[] }

function Shortcuts({ title, shortcuts }: ShortcutsProps) {
  return (
    <section aria-label={title}>
      <h3 className="mb-2 font-medium">{title}</h3>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-2">
        {shortcuts.map(({ keys, action }) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} className="mr-1 rounded border border-line-strong px-1.5 py-0.5 text-xs">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
