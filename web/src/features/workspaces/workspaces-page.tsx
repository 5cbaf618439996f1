import { Skeleton } from '../../components/feedback.tsx'

export function WorkspacesPage() {
  return <Skeleton />
}
