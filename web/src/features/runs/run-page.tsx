import { Skeleton } from '../../components/feedback.tsx'

export function RunPage() {
  return <Skeleton />
}
