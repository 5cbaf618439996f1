import { reaction } from '../../../events/reaction.ts'
import { workspaceLocking, workspaceUnlocked } from '../../workspaces/workspaces/events.ts'
import { discardPending, settleStates } from './settle.ts'

export const stateVersionReactions = [
  reaction(workspaceUnlocked, settleStates),
  reaction(workspaceLocking, discardPending),
]
