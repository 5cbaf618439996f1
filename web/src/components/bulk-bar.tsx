import type { QueryKey } from '@tanstack/react-query'
import { type ReactNode, Suspense, lazy, useState } from 'react'
import { type BulkAction, type BulkPage, obstacleOfAll } from './bulk.ts'
import { Button } from './button.tsx'
import { counted } from './numbers.ts'

const BulkDialog = lazy(async () => import('./bulk-dialog.tsx'))

type Named = { id: string; name: string }

/** The selected items of a list: those of this page with these ids, or everything that matches the filter. */
export type Selection = { ids: ReadonlySet<string>; isAll: boolean }
const NOTHING: Selection = { ids: new Set(), isAll: false }

/**
 * The selection in a list whose `filter` is the search of the URL. A change of the filter ends it: an action never affects
 * items that the user has not seen selected.
 */
export function useSelection(rows: readonly { id: string }[], filter: unknown) {
  const of = JSON.stringify(filter)
  const [stored, setStored] = useState({ of, selection: NOTHING })
  const selection = stored.of === of ? stored.selection : NOTHING
  const set = (next: Selection) => setStored({ of, selection: next })
  return {
    selection,
    set,
    clear: () => set(NOTHING),
    /** For `Table`. */
    checkboxes: {
      ids: selection.isAll ? new Set(rows.map(({ id }) => id)) : selection.ids,
      onChange: (ids: Set<string>) => set({ ids, isAll: false }),
    },
  }
}

export type BulkListProps<Item extends Named> = {
  /** Singular: "workspace". */
  noun: string
  actions: readonly BulkAction<Item>[]
  /** The rows of this page. */
  rows: readonly Item[]
  /** The number of items that match the filter; undefined where the API does not count. */
  total: number | undefined
  hasMore: boolean
  /** Reads a page of everything that matches the filter and these query parameters. */
  readPage: (candidates: Readonly<Record<string, string>>, page: number, signal: AbortSignal) => Promise<BulkPage<Item>>
  /** Query keys that an action changes. */
  changes: readonly QueryKey[]
}

type BulkBarProps<Item extends Named> = BulkListProps<Item> & { selecting: ReturnType<typeof useSelection> }

/** The bar above a list with the actions on its selected items; absent without a selection. */
export function BulkBar<Item extends Named>({ selecting, ...list }: BulkBarProps<Item>) {
  const { noun, actions, rows, total } = list
  const { selection, clear } = selecting
  const [open, setOpen] = useState<{ action: BulkAction<Item>; items: readonly Item[] | undefined }>()
  const selected = selection.isAll ? rows : rows.filter(({ id }) => selection.ids.has(id))
  const count = selection.isAll ? total : selected.length
  return (
    <>
      {selected.length > 0 && (
        <section
          aria-label={`Selected ${noun}s`}
          className="sticky top-12 z-10 mb-3 rounded-lg border border-accent bg-accent-soft px-3 py-2"
        >
          <div className="flex flex-wrap items-center gap-2">
            <span role="status" className="mr-2 font-medium">
              {selection.isAll && `All `}
              {count === undefined ? `${noun}s` : counted(count, noun)}
              {selection.isAll ? ' that match are selected' : ' selected'}
            </span>
            {actions.map((action) => (
              <Button
                label={action.label}
                key={action.label}
                size="small"
                icon={action.icon}
                reason={selection.isAll ? undefined : obstacleOfAll(action, selected)}
                onClick={() => setOpen({ action, items: selection.isAll ? undefined : selected })}
              />
            ))}
            <Button label="Clear selection" size="small" kind="quiet" onClick={clear} />
          </div>
          <SelectAll {...list} {...selecting} isWholePage={selected.length === rows.length} />
        </section>
      )}
      {open && (
        <Suspense>
          <BulkDialog
            {...list}
            action={open.action as BulkAction<Named>}
            items={open.items}
            total={open.action.candidates ? undefined : total}
            readPage={async (page, signal) => list.readPage(open.action.candidates ?? {}, page, signal)}
            onClose={() => setOpen(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

type SelectAllProps = Pick<BulkListProps<Named>, 'noun' | 'rows' | 'total' | 'hasMore'> &
  Pick<ReturnType<typeof useSelection>, 'selection' | 'set'> & { isWholePage: boolean }

/** Offers to extend the selection from a whole page to everything that matches the filter. */
function SelectAll({ noun, rows, total, hasMore, selection, set, isWholePage }: SelectAllProps): ReactNode {
  const isOnePage = total === undefined ? !hasMore : total <= rows.length
  if (!isWholePage || selection.isAll || isOnePage) return null
  const label =
    total === undefined ? `Select all ${noun}s that match` : `Select all ${total.toLocaleString('en')} that match`
  return (
    <p className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1">
      All {rows.length} on this page are selected.
      <Button label={label} size="small" onClick={() => set({ ids: new Set(), isAll: true })} />
    </p>
  )
}
