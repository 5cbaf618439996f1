import type { Workspace } from './workspace.ts'

const UNIT_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000 } as const

type Settings = Pick<
  Workspace,
  | 'auto_destroy_at'
  | 'auto_destroy_activity_duration'
  | 'inherits_project_auto_destroy'
  | 'project_auto_destroy_activity_duration'
  | 'latest_change_at'
>

/** When clients are told that a workspace is due, and after how long without a change; its own settings come first. */
export function effectiveAutoDestroy(workspace: Settings) {
  const { auto_destroy_at: ownTime, auto_destroy_activity_duration: ownDuration } = workspace
  const inherits = workspace.inherits_project_auto_destroy && ownTime === null && ownDuration === null
  const duration = inherits ? workspace.project_auto_destroy_activity_duration : ownDuration
  return { inherits, duration, at: ownTime ?? (duration && after(workspace.latest_change_at, duration)) }
}

function after(start: Date, duration: string) {
  return new Date(start.getTime() + Number.parseInt(duration, 10) * UNIT_MS[duration.endsWith('d') ? 'd' : 'h'])
}
