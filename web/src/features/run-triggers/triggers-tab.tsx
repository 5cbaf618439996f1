import { Skeleton } from '../../components/feedback.tsx'

export function TriggersTab() {
  return <Skeleton />
}
