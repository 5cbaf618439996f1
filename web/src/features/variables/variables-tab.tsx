import { Skeleton } from '../../components/feedback.tsx'

export function VariablesTab() {
  return <Skeleton />
}
