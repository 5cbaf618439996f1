import type { Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import { Trash2 } from 'lucide-react'
import { Badge } from '../../components/status.tsx'

type Marked = Pick<Wire<typeof runSchema>['attributes'], 'is-destroy' | 'plan-only' | 'refresh-only' | 'save-plan'>

/** What is special about a run; one that destroys is marked on every list. */
export function RunMarks({ run }: { run: Marked }) {
  return (
    <>
      {run['is-destroy'] && (
        <Badge tone="bad" icon={Trash2}>
          destroy
        </Badge>
      )}
      {run['plan-only'] && <Badge>plan only</Badge>}
      {run['refresh-only'] && <Badge>refresh only</Badge>}
      {run['save-plan'] && <Badge>saved plan</Badge>}
    </>
  )
}
