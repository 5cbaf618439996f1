import { Skeleton } from '../../components/feedback.tsx'

export function StatesTab() {
  return <Skeleton />
}
