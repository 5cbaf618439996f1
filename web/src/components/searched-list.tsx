import { SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { EmptyState, loaded } from './feedback.tsx'
import { SearchField } from './filters.tsx'
import { Pager, type Pagination } from './pager.tsx'

type Search = { q?: string | undefined; page?: number | undefined }

type SearchedListProps<Row> = {
  /** Plural: `projects`. */
  noun: string
  /** Hint in the search field; `Search projects` by default. */
  placeholder?: string
  query: {
    data: { data: readonly Row[]; meta: { pagination: Pagination } } | undefined
    error: Error | null
    refetch: () => Promise<unknown>
  }
  /** Search parameters of the page. */
  search: Search
  /** Changes search parameters; typing replaces the history entry. */
  onSearch: (change: Search, replace: boolean) => void
  /** Filters next to the search, and whether one is set. */
  filters?: ReactNode
  isFiltered?: boolean
  onClearFilters?: () => void
  /** Shown instead of the list if there is nothing to search. */
  empty: ReactNode
  children: (rows: readonly Row[]) => ReactNode
}

/** A list searched and paged by the server. */
export function SearchedList<Row>(props: SearchedListProps<Row>) {
  const { noun, query, search, onSearch, isFiltered = false } = props
  const { data, fallback } = loaded(query, { rows: 8 })
  const isEmpty = data?.data.length === 0
  const isBeyond = (search.page ?? 1) > 1
  const isSearched = search.q !== undefined || isFiltered
  if (isEmpty && !isSearched && !isBeyond) return props.empty

  function clear() {
    props.onClearFilters?.()
    onSearch({ q: undefined, page: undefined }, true)
  }
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
        <SearchField
          label={`Search ${noun}`}
          {...(props.placeholder !== undefined && { placeholder: props.placeholder })}
          value={search.q ?? ''}
          onChange={(q) => onSearch({ q: q || undefined, page: undefined }, true)}
        />
        {props.filters}
      </div>
      {!data && fallback}
      {isEmpty && (
        <EmptyState
          icon={SearchX}
          title={isBeyond ? `No ${noun} on this page` : `No ${noun} match`}
          actions={<Button label={isBeyond ? 'First page' : 'Clear filters'} onClick={clear} />}
        />
      )}
      {data && !isEmpty && (
        <>
          {props.children(data.data)}
          <Pager pagination={data.meta.pagination} onPage={(page) => onSearch({ page }, false)} />
        </>
      )}
    </>
  )
}
