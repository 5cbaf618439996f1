import { type Db } from '../db/db.ts'
import { type Signals, withDetail } from '../signals.ts'
import { CHANGE_TOPIC, type Notice } from './feed.ts'

/** The topic of the signal that the access of people to an organization may have changed; the detail is its id, or empty for any. */
export const ACCESS_TOPIC = 'access'

/** A signal has room for this many ids of teams. */
const MAX_TEAMS = 100

type AnnounceCtx = { db: Db; signals: Signals }

/**
 * Notifies open pages of changes, soon after the transaction has committed. Of equal notices that come within a moment one is sent. Every
 * change that a page shows is announced where it is made: with its audit event (`audit/record.ts`), with the transition of a run, or by
 * a call of this function.
 */
export function announce({ db, signals }: AnnounceCtx, ...notices: readonly Notice[]) {
  signals.publishSoon(db, topicsOf(notices))
}

/** As `announce`, of what `find` resolves to once the transaction has committed. */
export function announceFound({ db, signals }: AnnounceCtx, find: () => Promise<readonly Notice[]>) {
  signals.publishSoon(db, async () => topicsOf(await find()))
}

/** Makes the streams of an organization check at once what their callers may still read; without an id, those of all organizations. */
export function announceAccess({ db, signals }: AnnounceCtx, organizationId = '') {
  signals.publish(db, withDetail(ACCESS_TOPIC, organizationId))
}

function topicsOf(notices: readonly Notice[]) {
  return notices.flatMap(split).map((notice) => withDetail(CHANGE_TOPIC, JSON.stringify(notice)))
}

function split({ teams, ...notice }: Notice): Notice[] {
  if (!teams) return [notice]
  const sorted = [...new Set(teams)].toSorted()
  const parts = Array.from({ length: Math.max(1, Math.ceil(sorted.length / MAX_TEAMS)) })
  return parts.map((_, index) => ({ ...notice, teams: sorted.slice(index * MAX_TEAMS, (index + 1) * MAX_TEAMS) }))
}

type Placed = { id: string; organization_id: string }

/** The notice of a workspace: its settings, lock, tags, current run and state. */
export function workspaceNotice({ id, organization_id: organization }: Placed): Notice {
  return { organization, type: 'workspaces', id, workspace: id }
}

/** The notice of a run: its status, phases, stages, events and comments. */
export function runNotice({
  id,
  organization_id: organization,
  workspace_id: workspace,
}: Placed & { workspace_id: string }): Notice {
  return { organization, type: 'runs', id, workspace }
}
