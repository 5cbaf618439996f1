import { Skeleton } from '../../components/feedback.tsx'

export function AccessTab() {
  return <Skeleton />
}
