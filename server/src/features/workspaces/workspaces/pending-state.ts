import { invalid } from '../../../errors.ts'
import type { WorkspaceRow } from './store.ts'

/**
 * Refuses to unlock a workspace while its newest state version awaits its content. Clients look for the words
 * `latest state version is still pending`, and take a conflict for a workspace that is unlocked already.
 */
export function checkNoPendingStateVersion({ pending_state_version_id: pending }: WorkspaceRow) {
  if (pending !== null) throw invalid(`the latest state version is still pending: ${pending} awaits its upload`)
}
