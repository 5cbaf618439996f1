import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from './button.tsx'

/** Lists of an organization's resources have no totals. */
export type Pagination = {
  'current-page': number
  'page-size': number
  'next-page'?: number | null
  'total-pages'?: number
  'total-count'?: number
}

export function Pager({ pagination, onPage }: { pagination: Pagination | undefined; onPage: (page: number) => void }) {
  if (!pagination) return null
  const page = pagination['current-page']
  const pages = pagination['total-pages']
  const isLast = pages === undefined ? pagination['next-page'] === null : page >= pages
  if (isLast && page <= 1) return null
  const previous = { label: 'Previous', icon: ChevronLeft, reason: page <= 1 ? 'this is the first page' : undefined }
  const next = { label: 'Next', icon: ChevronRight, reason: isLast ? 'this is the last page' : undefined }
  return (
    <nav className="mt-3 flex flex-wrap items-center gap-2" aria-label="Pages">
      <span className="numeric mr-auto text-dim">{rangeText(pagination)}</span>
      <Button size="small" {...previous} onClick={() => onPage(page - 1)} />
      <Button size="small" {...next} onClick={() => onPage(page + 1)} />
    </nav>
  )
}

function rangeText({ 'current-page': page, 'page-size': size, 'total-count': total }: Pagination) {
  if (total === undefined) return `Page ${page.toLocaleString('en')}`
  const first = (page - 1) * size + 1
  const last = Math.min(page * size, total)
  const range = last < first ? 'Nothing' : `${first.toLocaleString('en')} to ${last.toLocaleString('en')}`
  return `${range} of ${total.toLocaleString('en')}`
}
