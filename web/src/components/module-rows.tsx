import type { ReactNode } from 'react'
import { counted } from './numbers.ts'
import { VirtualRows, type VirtualRowsProps } from './virtual-rows.tsx'

type ModuleRow<Item> = { kind: 'module'; module: string; count: number } | { kind: 'item'; item: Item }

/** Items below a row for each module, the root module first. Plans call that '', states 'root'. */
export function moduleRows<Item extends { module: string }>(items: readonly Item[]): ModuleRow<Item>[] {
  return [...Map.groupBy(items, ({ module }) => module)]
    .sort(([a], [b]) => Number(isRoot(b)) - Number(isRoot(a)) || a.localeCompare(b))
    .flatMap(([module, own]) => [
      { kind: 'module' as const, module, count: own.length },
      ...own.map((item) => ({ kind: 'item' as const, item })),
    ])
}

/** The address of a resource without its module. */
export function localAddress(address: string, module: string) {
  return !isRoot(module) && address.startsWith(`${module}.`) ? address.slice(module.length + 1) : address
}

function isRoot(module: string) {
  return module === '' || module === 'root'
}

type ModuleRowsProps<Item> = Omit<VirtualRowsProps<never>, 'rows' | 'keyOf' | 'render'> & {
  rows: readonly ModuleRow<Item>[]
  hasCounts?: boolean
  keyOf: (item: Item) => string
  render: (item: Item) => ReactNode
}

export function ModuleRows<Item>({ hasCounts = true, keyOf, render, ...props }: ModuleRowsProps<Item>) {
  return (
    <VirtualRows
      {...props}
      keyOf={(row) => (row.kind === 'module' ? `module ${row.module}` : keyOf(row.item))}
      render={(row) =>
        row.kind === 'item' ? (
          render(row.item)
        ) : (
          <h3 className="flex flex-wrap items-baseline gap-x-2 border-b border-line bg-ground px-3 py-1.5 font-medium">
            {isRoot(row.module) ? 'Root module' : <code>{row.module}</code>}
            {hasCounts && <span className="numeric font-normal text-dim">{counted(row.count, 'resource')}</span>}
          </h3>
        )
      }
    />
  )
}
