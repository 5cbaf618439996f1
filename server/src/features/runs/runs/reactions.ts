import { reaction } from '../../../events/reaction.ts'
import { workspaceUnlocked } from '../../workspaces/workspaces/events.ts'
import { advanceQueue } from './advance.ts'

export const runReactions = [
  reaction(workspaceUnlocked, async (ctx, workspace) => {
    // Runs wait for the lock; without any there is nothing to wake.
    if (workspace.waiting_runs > 0) await advanceQueue(ctx, workspace.id)
  }),
]
