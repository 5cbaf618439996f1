import { Skeleton } from '../../components/feedback.tsx'

export function RunsTab() {
  return <Skeleton />
}
