import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from './button.tsx'

/** Lists over a whole organization are not counted. */
type Pagination = {
  'current-page': number
  'page-size': number
  'next-page'?: number | null
  'total-pages'?: number
  'total-count'?: number
}

/** The pages of a list, when there are several. */
export function Pager({ pagination, onPage }: { pagination: Pagination | undefined; onPage: (page: number) => void }) {
  if (!pagination) return null
  const page = pagination['current-page']
  const pages = pagination['total-pages']
  const isLast = pages === undefined ? pagination['next-page'] === null : page >= pages
  if (isLast && page <= 1) return null
  return (
    <nav className="mt-3 flex flex-wrap items-center gap-2" aria-label="Pages">
      <span className="numeric mr-auto text-dim">{placeOf(pagination)}</span>
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
        reason={isLast ? 'this is the last page' : undefined}
        onClick={() => onPage(page + 1)}
      >
        Next
      </Button>
    </nav>
  )
}

function placeOf({ 'current-page': page, 'page-size': size, 'total-count': total }: Pagination) {
  if (total === undefined) return `Page ${page.toLocaleString('en')}`
  const first = (page - 1) * size + 1
  const last = Math.min(page * size, total)
  const range = last < first ? 'Nothing' : `${first.toLocaleString('en')} to ${last.toLocaleString('en')}`
  return `${range} of ${total.toLocaleString('en')}`
}
