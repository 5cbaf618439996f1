import { rowSelectionFeature, tableFeatures, useTable, type RowData } from '@tanstack/react-table'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'

const FEATURES = tableFeatures({ rowSelectionFeature })
/** `Table` renders the cells itself: as components of the library, they would remount and lose the focus. */
const NO_COLUMNS: [] = []

export type Column<Row> = {
  /** Unique in the table. */
  header: string
  cell: (row: Row) => ReactNode
  /** The server's name of the sort order; without it the column cannot be sorted. */
  sort?: string
  className?: string
  isHeaderHidden?: boolean
}

type TableProps<Row> = {
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  /** The server's notation: `name`, or `-name` for descending order. */
  sort?: string | undefined
  onSort?: (sort: string) => void
  selection?: { ids: ReadonlySet<string>; onChange: (ids: Set<string>) => void } | undefined
  nameOf?: (row: Row) => string
  footer?: ReactNode
  /** Whether the keyboard scrolls it: a wide table without links or buttons. */
  isFocusable?: boolean
}

export function Table<Row extends RowData & { id: string }>(props: TableProps<Row>) {
  const { label, rows, columns, sort, onSort, selection, nameOf, footer, isFocusable = false } = props
  const selected = useMemo(
    () => Object.fromEntries([...(selection?.ids ?? [])].map((id) => [id, true as const])),
    [selection?.ids],
  )
  const table = useTable(
    {
      features: FEATURES,
      columns: NO_COLUMNS,
      data: rows,
      getRowId: (row: Row) => row.id,
      state: { rowSelection: selected },
      onRowSelectionChange: (change) => {
        const next = typeof change === 'function' ? change(selected) : change
        selection?.onChange(new Set(Object.keys(next).filter((id) => next[id])))
      },
    },
    (state) => state,
  )
  const isAll = selection !== undefined && rows.length > 0 && rows.every((row) => selection.ids.has(row.id))

  return (
    <div
      className="relative overflow-x-auto rounded-lg border border-line bg-paper"
      {...(isFocusable && { tabIndex: 0, role: 'region', 'aria-label': label })}
    >
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-dim">
            {selection && (
              <th scope="col" className="w-8 py-2 pl-3">
                <Checkbox
                  aria-label="Select all on this page"
                  checked={isAll}
                  onChange={() => selection.onChange(new Set(isAll ? [] : rows.map(({ id }) => id)))}
                />
              </th>
            )}
            {columns.map((column) => (
              <HeaderCell key={column.header} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className="border-b border-line last:border-0 hover:bg-hover">
              {selection && (
                <td className="py-1.5 pl-3">
                  <Checkbox
                    aria-label={`Select ${nameOf?.(row.original) ?? row.id}`}
                    checked={selection.ids.has(row.id)}
                    onChange={() => row.toggleSelected()}
                  />
                </td>
              )}
              {columns.map(({ header, className = '', cell }) => (
                <td key={header} className={`px-3 py-1.5 align-middle ${className}`}>
                  {cell(row.original)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {footer}
    </div>
  )
}

/** A number in a cell. Zero recedes. */
export function Count({ value }: { value: number }) {
  return <span className={`numeric ${value === 0 ? 'text-dim' : ''}`}>{value.toLocaleString('en')}</span>
}

function Checkbox(props: { 'aria-label': string; checked: boolean; onChange: () => void }) {
  return <input type="checkbox" className="block size-4 accent-accent" {...props} />
}

type HeaderCellProps = Pick<TableProps<never>, 'sort' | 'onSort'> & {
  column: Pick<Column<never>, 'header' | 'sort' | 'className' | 'isHeaderHidden'>
}

function HeaderCell({ column: { header, sort: own, className = '', isHeaderHidden }, sort, onSort }: HeaderCellProps) {
  const direction = directionOf(sort, own)
  return (
    <th scope="col" aria-sort={direction} className={`px-3 py-2 font-medium whitespace-nowrap ${className}`}>
      {own !== undefined && onSort ? (
        <button
          type="button"
          className="inline-flex cursor-pointer items-center gap-1 hover:text-ink"
          onClick={() => onSort(direction === 'ascending' ? `-${own}` : own)}
        >
          {header}
          {direction === 'ascending' && <ArrowUp size={13} />}
          {direction === 'descending' && <ArrowDown size={13} />}
        </button>
      ) : (
        <span className={isHeaderHidden ? 'sr-only' : ''}>{header}</span>
      )}
    </th>
  )
}

function directionOf(sort: string | undefined, own: string | undefined) {
  if (own === undefined) return undefined
  if (sort === own) return 'ascending'
  return sort === `-${own}` ? 'descending' : 'none'
}
