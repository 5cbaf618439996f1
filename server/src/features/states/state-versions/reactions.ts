import { reaction } from '../../../events/reaction.ts'
import { workspaceUnlocked } from '../../workspaces/workspaces/events.ts'
import { promoteIntermediate } from './promote.ts'

export const stateVersionReactions = [reaction(workspaceUnlocked, promoteIntermediate)]
