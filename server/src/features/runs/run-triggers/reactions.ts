import { reaction } from '../../../events/reaction.ts'
import { runApplied } from '../runs/events.ts'
import { recordFirings } from './record-firings.ts'

export const runTriggerReactions = [reaction(runApplied, recordFirings)]
