import { TriangleAlert } from 'lucide-react'
import { Badge } from '../../components/status.tsx'

/** Marks a resource that an apply would replace; one that is not tainted, or of which that is not known, has no mark. */
export function TaintedBadge({ tainted, count = 1 }: { tainted: number; count?: number }) {
  if (tainted === 0) return null
  return (
    <Badge tone="warn" icon={TriangleAlert} title="An apply that begins with this state replaces what is tainted">
      {taintedWords(tainted, count)}
    </Badge>
  )
}

/** "tainted" where all instances are, else "2 of 10 tainted". */
function taintedWords(tainted: number, count: number) {
  return tainted === count ? 'tainted' : `${tainted.toLocaleString('en')} of ${count.toLocaleString('en')} tainted`
}
