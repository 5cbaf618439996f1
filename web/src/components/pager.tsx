import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from './button.tsx'

type Pagination = { 'current-page': number; 'page-size': number; 'total-pages': number; 'total-count': number }

/** The pages of a list, when there are several. */
export function Pager({ pagination, onPage }: { pagination: Pagination | undefined; onPage: (page: number) => void }) {
  if (!pagination || (pagination['total-pages'] <= 1 && pagination['current-page'] <= 1)) return null
  const page = pagination['current-page']
  const first = (page - 1) * pagination['page-size'] + 1
  const last = Math.min(page * pagination['page-size'], pagination['total-count'])
  return (
    <nav className="mt-3 flex flex-wrap items-center gap-2" aria-label="Pages">
      <span className="numeric mr-auto text-dim">
        {last < first ? 'Nothing' : `${first.toLocaleString('en')} to ${last.toLocaleString('en')}`} of{' '}
        {pagination['total-count'].toLocaleString('en')}
      </span>
      <Button
        size="small"
        icon={ChevronLeft}
        reason={page <= 1 ? 'this is the first page' : undefined}
        onClick={() => onPage(page - 1)}
      >
        Previous
      </Button>
      <Button
        size="small"
        icon={ChevronRight}
        reason={page >= pagination['total-pages'] ? 'this is the last page' : undefined}
        onClick={() => onPage(page + 1)}
      >
        Next
      </Button>
    </nav>
  )
}
