import { TriangleAlert } from 'lucide-react'
import { Badge } from './status.tsx'

/** "tainted", or "2 of 10 tainted" if only some instances are; nothing if none is. */
export function TaintedBadge({ tainted, count = 1 }: { tainted: number; count?: number }) {
  if (tainted === 0) return null
  return (
    <Badge tone="warn" icon={TriangleAlert} title="The next apply replaces tainted instances">
      {tainted === count ? 'tainted' : `${tainted.toLocaleString('en')} of ${count.toLocaleString('en')} tainted`}
    </Badge>
  )
}
