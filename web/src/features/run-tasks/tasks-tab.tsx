import { Skeleton } from '../../components/feedback.tsx'

export function TasksTab() {
  return <Skeleton />
}
