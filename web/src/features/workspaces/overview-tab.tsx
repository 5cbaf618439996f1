import { Skeleton } from '../../components/feedback.tsx'

export function OverviewTab() {
  return <Skeleton />
}
