import { Button } from './button.tsx'

type Pagination = { 'current-page': number; 'total-pages': number; 'total-count': number }

/** Links to the previous and next page, when there are several. */
export function Pages({ pagination, onPage }: { pagination: Pagination | undefined; onPage: (page: number) => void }) {
  if (!pagination || pagination['total-pages'] <= 1) return null
  const page = pagination['current-page']
  return (
    <nav className="mt-4 flex items-center gap-3 text-sm" aria-label="Pages">
      <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Previous
      </Button>
      <span>
        Page {page} of {pagination['total-pages']}
      </span>
      <Button disabled={page >= pagination['total-pages']} onClick={() => onPage(page + 1)}>
        Next
      </Button>
    </nav>
  )
}
