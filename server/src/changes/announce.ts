import { type Db } from '../db/db.ts'
import { type Signals, withDetail } from '../signals.ts'
import { CHANGE_TOPIC, type Notice } from './feed.ts'

/** Topic of the signal that access to an organization may have changed; the detail is its id, or empty for all organizations. */
export const ACCESS_TOPIC = 'access'

/** Maximum number of team ids that fit in a signal. */
const MAX_TEAMS = 100

type AnnounceCtx = { db: Db; signals: Signals }

/**
 * Notifies open pages of changes after the transaction commits; equal notices are debounced. Every change that pages show is announced: by
 * its audit event (`audit/record.ts`), by the transition of a run, or by a call of this function.
 */
export function announce({ db, signals }: AnnounceCtx, ...notices: readonly Notice[]) {
  signals.publishSoon(db, topicsOf(notices))
}

/** Like `announce`, for the notices that `find` resolves to after the commit. */
export function announceFound({ db, signals }: AnnounceCtx, find: () => Promise<readonly Notice[]>) {
  signals.publishSoon(db, async () => topicsOf(await find()))
}

/** Makes open streams recheck immediately what their callers may read; without an id, those of all organizations. */
export function announceAccess({ db, signals }: AnnounceCtx, organizationId = '') {
  signals.publish(db, withDetail(ACCESS_TOPIC, organizationId))
}

function topicsOf(notices: readonly Notice[]) {
  return notices.flatMap(split).map((notice) => withDetail(CHANGE_TOPIC, JSON.stringify(notice)))
}

/** Splits a notice whose teams do not fit in one signal. */
function split({ teams, ...notice }: Notice): Notice[] {
  if (!teams) return [notice]
  const sorted = [...new Set(teams)].toSorted()
  const parts = Array.from({ length: Math.max(1, Math.ceil(sorted.length / MAX_TEAMS)) })
  return parts.map((_, index) => ({ ...notice, teams: sorted.slice(index * MAX_TEAMS, (index + 1) * MAX_TEAMS) }))
}

/** Notice of a change to a workspace: its settings, lock, tags, current run or state. */
export function workspaceNotice({
  id,
  organization_id: organization,
}: {
  id: string
  organization_id: string
}): Notice {
  return { organization, type: 'workspaces', id, workspace: id }
}

/** Notice of a change to a run: its status, phases, stages, events or comments. */
export function runNotice(run: { id: string; organization_id: string; workspace_id: string }): Notice {
  return { organization: run.organization_id, type: 'runs', id: run.id, workspace: run.workspace_id }
}
