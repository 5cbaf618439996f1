import { Skeleton } from '../../components/feedback.tsx'

export function RunsPage() {
  return <Skeleton />
}
