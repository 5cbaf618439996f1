import type { Workspace } from '../workspaces/workspace.ts'
import type { TeamWorkspaceRow } from './store.ts'

/** What a team may do to a workspace that the actor may see. */
export type TeamWorkspace = TeamWorkspaceRow & { workspace: Workspace }
