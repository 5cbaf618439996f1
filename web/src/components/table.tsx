import {
  createColumnHelper,
  rowSelectionFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
  type RowData,
} from '@tanstack/react-table'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'

const FEATURES = tableFeatures({ rowSelectionFeature })
type Features = typeof FEATURES

/** One column: its heading, and its cell for a row. */
export type Column<Row> = {
  id: string
  header: string
  cell: (row: Row) => ReactNode
  /** The name by which the server sorts; without it the column can't be sorted. */
  sort?: string
  /** Classes of the cells, such as widths and `hidden md:table-cell` for what a phone leaves out. */
  className?: string
  isHeaderHidden?: boolean
}

/**
 * A dense table of what the server has searched, filtered and sorted. `sort` is the server's own notation: `name`, or
 * `-name` downwards. With `selection` each row has a box to tick.
 */
export function Table<Row extends RowData & { id: string }>({
  label,
  rows,
  columns,
  sort,
  onSort,
  selection,
  nameOf,
  footer,
}: TableProps<Row>) {
  const definitions = useMemo(() => {
    const helper = createColumnHelper<Features, Row>()
    return columns.map(({ id, header }) => helper.display({ id, header })) as ColumnDef<Features, Row>[]
  }, [columns])
  const selected = useMemo(
    () => Object.fromEntries([...(selection?.ids ?? [])].map((id) => [id, true as const])),
    [selection?.ids],
  )
  const table = useTable(
    {
      features: FEATURES,
      columns: definitions,
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
  const byId = new Map(columns.map((column) => [column.id, column]))
  const isAll = selection !== undefined && rows.length > 0 && rows.every((row) => selection.ids.has(row.id))

  return (
    <div className="overflow-x-auto rounded-lg border border-line bg-paper">
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{label}</caption>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} className="border-b border-line text-dim">
              {selection && (
                <th scope="col" className="w-8 py-2 pl-3">
                  <input
                    type="checkbox"
                    aria-label="Select all on this page"
                    className="block size-4 accent-accent"
                    checked={isAll}
                    onChange={() => selection.onChange(new Set(isAll ? [] : rows.map(({ id }) => id)))}
                  />
                </th>
              )}
              {group.headers.map((header) => {
                const column = byId.get(header.column.id)
                const direction = column?.sort === undefined ? undefined : directionOf(sort, column.sort)
                return (
                  <th
                    key={header.id}
                    scope="col"
                    aria-sort={direction}
                    className={`px-3 py-2 font-medium whitespace-nowrap ${column?.className ?? ''}`}
                  >
                    {column?.sort !== undefined && onSort ? (
                      <SortButton text={column.header} name={column.sort} direction={direction} onSort={onSort} />
                    ) : (
                      <span className={column?.isHeaderHidden ? 'sr-only' : ''}>{column?.header}</span>
                    )}
                  </th>
                )
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className="border-b border-line last:border-0 hover:bg-hover">
              {selection && (
                <td className="py-1.5 pl-3">
                  <input
                    type="checkbox"
                    aria-label={`Select ${nameOf?.(row.original) ?? row.id}`}
                    className="block size-4 accent-accent"
                    checked={selection.ids.has(row.id)}
                    onChange={() => row.toggleSelected()}
                  />
                </td>
              )}
              {row.getAllCells().map((cell) => (
                <td key={cell.id} className={`px-3 py-1.5 align-middle ${byId.get(cell.column.id)?.className ?? ''}`}>
                  {/* Called, not rendered as a component: a new function would remount the cell and lose its focus. */}
                  {byId.get(cell.column.id)?.cell(row.original)}
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

type TableProps<Row> = {
  /** Label of the table for screen readers. */
  label: string
  rows: readonly Row[]
  /** Made once, outside of the component or by `useMemo`. */
  columns: readonly Column<Row>[]
  sort?: string | undefined
  onSort?: (sort: string) => void
  selection?: { ids: ReadonlySet<string>; onChange: (ids: Set<string>) => void } | undefined
  /** The name of a row, for the box that selects it. */
  nameOf?: (row: Row) => string
  footer?: ReactNode
}

function directionOf(sort: string | undefined, name: string) {
  if (sort === name) return 'ascending'
  return sort === `-${name}` ? 'descending' : 'none'
}

function SortButton({
  text,
  name,
  direction,
  onSort,
}: {
  text: string
  name: string
  direction: string | undefined
  onSort: (sort: string) => void
}) {
  return (
    <button
      type="button"
      className="inline-flex cursor-pointer items-center gap-1 hover:text-ink"
      onClick={() => onSort(direction === 'ascending' ? `-${name}` : name)}
    >
      {text}
      {direction === 'ascending' && <ArrowUp size={13} aria-hidden="true" />}
      {direction === 'descending' && <ArrowDown size={13} aria-hidden="true" />}
    </button>
  )
}
