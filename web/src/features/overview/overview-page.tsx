import { Skeleton } from '../../components/feedback.tsx'

export function OverviewPage() {
  return <Skeleton />
}
