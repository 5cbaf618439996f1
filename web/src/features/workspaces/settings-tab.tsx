import { Skeleton } from '../../components/feedback.tsx'

export function SettingsTab() {
  return <Skeleton />
}
